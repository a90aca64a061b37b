package proof

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestEveryVerbAgreesWithTheModelStepByStep(t *testing.T) {
	stage := stages(t, 1)[0]
	rapid.Check(t, func(t *rapid.T) { drive(t, stage) })
}

// machine holds one job against the model, one call at a time.
type machine struct {
	*subject
	ctx    context.Context
	model  State
	made   int // attempts
	steps  int
	budget int // as first asked for
}

// drive lets rapid choose verbs and what they are given, legal or not. What it
// draws depends on the model alone, so that a counterexample can be shrunk.
func drive(t *rapid.T, stage *Stage) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m := &machine{subject: &subject{Stage: stage, names: newNames()}, ctx: ctx}
	m.key = fmt.Sprintf("%016x", m.salt)
	defer func() {
		if err := stage.tidy(ctx); err != nil {
			t.Error(err)
		}
	}()
	m.budget = rapid.IntRange(1, 3).Draw(t, "budget")
	m.ask(t, Call{Verb: Enqueue, Budget: m.budget, Later: rapid.IntRange(0, 4).Draw(t, "later") == 4})
	t.Repeat(map[string]func(*rapid.T){
		"claim":     m.claimStep,
		"claim now": m.claimStep,
		"renew":     m.offerStep(Renew),
		"complete":  m.offerStep(Complete),
		"fail":      m.offerStep(Fail),
		"release":   m.offerStep(Release),
		"lapse":     func(t *rapid.T) { m.ask(t, Call{Verb: Lapse}) },
		"expire":    func(t *rapid.T) { m.ask(t, Call{Verb: Expire}) },
		"come due":  func(t *rapid.T) { m.ask(t, Call{Verb: ComeDue}) },
		"promote":   func(t *rapid.T) { m.ask(t, Call{Verb: Promote}) },
		"requeue":   m.operateStep(Requeue),
		"terminate": m.operateStep(Terminate),
		"correct":   m.operateStep(Correct),
		"amend":     m.operateStep(Amend),
		"erase":     m.operateStep(Erase),
		"note":      m.operateStep(Note),
		"enqueue":   m.enqueueStep,
		"find":      m.findStep,
		"hold":      func(t *rapid.T) { m.ask(t, Call{Verb: Hold, Commit: rapid.Bool().Draw(t, "commit")}) },
		"nowhere":   m.nowhereStep,
	})
}

// ask compares the answer, then everything that the job has left behind.
func (m *machine) ask(t *rapid.T, c Call) {
	m.compare(t, c)
	m.compare(t, Call{Verb: Look})
}

func (m *machine) compare(t *rapid.T, c Call) {
	c.Alone = true
	var got Answer
	if c.Verb == Enqueue {
		var id int64
		id, got = m.enqueue(m.ctx, c)
		if m.id != 0 && id != m.id {
			t.Fatalf("the key leads to job %d and to job %d", m.id, id)
		}
		m.id = id
	} else {
		got = m.perform(m.ctx, c, 0)
	}
	if c.Verb != Look {
		m.steps++
		t.Logf("%2d %-36s -> %s", m.steps, c, got)
	}
	ok, next := m.model.step(c, got)
	if !ok {
		t.Fatalf("%s was answered\n    %s\nand the model says\n    %s", c.Verb, got, m.model.After(c)[0].Answer)
	}
	m.model = next
}

func worker(t *rapid.T) string {
	return rapid.SampledFrom([]string{"worker 1", "worker 2", "worker 3"}).Draw(t, "worker")
}

func (m *machine) claimStep(t *rapid.T) {
	m.made++
	m.ask(t, Call{Verb: ClaimJob, By: Fence{Attempt: m.made}, Worker: worker(t)})
}

func (m *machine) offerStep(verb Verb) func(*rapid.T) {
	return func(t *rapid.T) {
		c := Call{Verb: verb, By: m.fence(t), Worker: worker(t)}
		switch verb {
		case Complete:
			c.Result = rapid.SampledFrom([]string{"this", "that"}).Draw(t, "result")
			c.FollowUps = rapid.IntRange(0, 2).Draw(t, "follow-ups")
		case Fail:
			c.Later, c.Permanent = rapid.Bool().Draw(t, "later"), rapid.IntRange(0, 5).Draw(t, "permanent") == 5
		case Release:
			c.Started = rapid.Bool().Draw(t, "started")
		}
		m.ask(t, c)
	}
}

// fence draws the newest claim as a rule, else an older one, or one that was
// never issued.
func (m *machine) fence(t *rapid.T) Fence {
	n := len(m.model.Claims)
	newest := Fence{m.model.current().Attempt, int64(n)}
	switch rapid.SampledFrom([]Whose{Mine, Mine, Mine, Mine, Theirs, Theirs, Stranger, Raised, Lowered}).Draw(t, "whose") {
	case Theirs:
		if n > 0 {
			g := rapid.IntRange(1, n).Draw(t, "generation")
			return Fence{m.model.Claims[g-1].Attempt, int64(g)}
		}
	case Stranger:
		return Fence{stranger, newest.Generation}
	case Raised:
		return Fence{newest.Attempt, newest.Generation + 1}
	case Lowered:
		return Fence{newest.Attempt, newest.Generation - 1}
	}
	return newest
}

func (m *machine) operateStep(verb Verb) func(*rapid.T) {
	return func(t *rapid.T) {
		seen := m.model.Revision - int64(rapid.SampledFrom([]int{0, 0, 0, 1, 2, -1}).Draw(t, "behind"))
		c := Call{Verb: verb, Seen: max(1, seen)}
		if verb == Amend {
			c.Budget, c.Args = m.model.Budget+rapid.IntRange(0, 1).Draw(t, "more"), rapid.Bool().Draw(t, "args")
		}
		m.ask(t, c)
	}
}

func (m *machine) enqueueStep(t *rapid.T) {
	m.ask(t, Call{Verb: Enqueue, Budget: m.budget, Later: rapid.Bool().Draw(t, "later"), Other: rapid.Bool().Draw(t, "other")})
}

func (m *machine) findStep(t *rapid.T) {
	m.ask(t, Call{Verb: Find, By: Fence{Attempt: rapid.IntRange(1, m.made+1).Draw(t, "attempt")}})
}

// nowhereStep offers to a job that does not exist. It is answered so, and
// concerns no other.
func (m *machine) nowhereStep(t *rapid.T) {
	elsewhere := *m.subject
	elsewhere.id = 1 << 50
	c := Call{Verb: rapid.SampledFrom([]Verb{Renew, Complete, Fail, Release}).Draw(t, "verb"), By: m.fence(t), Worker: worker(t)}
	before := m.unknown(t)
	if got, want := elsewhere.perform(m.ctx, c, 0), (Answer{Verdict: "unknown_job"}); got != want {
		t.Fatalf("%s of no job was answered\n    %s", c, got)
	}
	if n := m.unknown(t) - before; n != 1 {
		t.Fatalf("%s of no job is on record %d times", c, n)
	}
	m.compare(t, Call{Verb: Look})
}

func (m *machine) unknown(t *rapid.T) (n int) {
	if err := m.owner.QueryRow(m.ctx, "select count(*) from fenceline.unknown_writes").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
