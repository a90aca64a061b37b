package drill

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Step is one thing that happened. Its time is the database's clock.
type Step struct {
	Step       string     `json:"step"` // enqueued, claimed, stopped, expired, continued, refused, completed, verified
	At         time.Time  `json:"at"`
	Job        int64      `json:"job_id,string"`
	Worker     string     `json:"worker,omitempty"` // A or B
	AttemptID  *uuid.UUID `json:"attempt_id,omitempty"`
	Generation int64      `json:"generation,omitempty"`
	Op         string     `json:"op,omitempty"`     // refused: what was offered
	Reason     string     `json:"reason,omitempty"` // refused: why
	OK         *bool      `json:"ok,omitempty"`     // verified: the ending is the right one
	Text       string     `json:"text"`             // a sentence for a person
}

func (d *Drill) tell(s Step) {
	s.Job = d.Job
	d.report(s)
}

// step is something that happened to a worker's attempt.
func (a *actor) step(name string, at time.Time, format string, args ...any) Step {
	id := a.attempt
	return Step{Step: name, At: at, Worker: a.name, AttemptID: &id, Generation: a.generation, Text: fmt.Sprintf(format, args...)}
}
