package faults

import (
	"time"

	"github.com/fenceline/fenceline/store/proof/mutant"
)

// Storm is every fault that a single machine can do to a single server.
func Storm(goal Goal) Scene {
	return Scene{Name: "storm", Goal: goal, Faults: ofServer, Small: ofProcesses, Gap: time.Second}
}

// Control is the storm with the fence taken out of the statements: an attempt's
// write is accepted whenever its job is running. What
// the judge then finds shows that it can find something.
func Control(goal Goal) Scene {
	s := Storm(goal)
	s.Name = "control"
	s.rewrite = func(sql string) string {
		if !mutant.Unfenced.Concerns(sql) {
			return sql
		}
		out, err := mutant.Unfenced.Apply(sql)
		if err != nil {
			panic(err) // the statement changed: the proof's own test says so too
		}
		return out
	}
	return s
}
