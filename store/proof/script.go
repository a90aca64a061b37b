package proof

import (
	"math/rand/v2"
	"time"
)

// Whose says which fence a step offers. What it comes to depends on what was
// claimed by then.
type Whose int

// The fences that a step can offer.
const (
	Mine     Whose = iota // of one's own claims, counted back from the newest
	Theirs                // of anybody's claims, counted back from the newest
	Stranger              // a generation, counted back, with an attempt id that nobody claimed with
	Raised                // the newest claim's attempt id with the next generation
	Lowered               // the newest claim's attempt id with the generation before
	Echo                  // the newest offer of anybody, once more
)

// Step is a call that is not yet bound to what it will find.
type Step struct {
	Call  Call
	Whose Whose
	Back  int           // Mine, Theirs, Stranger, an operator's revision: how far back
	Again bool          // offers its claim even if that is known to be over, where a worker would claim
	Fresh bool          // an operator reads the row first
	Wait  time.Duration // hold: for how long
	Cut   time.Duration // not to wait longer for the answer; 0 for as long as it takes
}

// Script is what the clients of one history do, each its own steps one after
// the other. All clients but the closer are at it at once; the closer comes
// last and alone, so that nothing can be stuck unseen.
type Script struct {
	Seed    uint64
	Index   uint64 // the Index-th history of the seed
	Request Call   // the enqueue
	Copies  int    // how many clients enqueue it at once
	Clients [][]Step
}

// Steps counts the steps of all clients.
func (s Script) Steps() int {
	n := 0
	for _, steps := range s.Clients {
		n += len(steps)
	}
	return n
}

// who names the clients; there is one step list for each.
var who = []string{"worker 1", "worker 2", "worker 3", "operator", "world", "closer"}

// The clients that are no workers.
const (
	operator = 3
	world    = 4
	closer   = 5
)

// closing shows whether anything is stuck, and what is left behind.
var closing = []Verb{Expire, Promote, ClaimJob, Look}

// author writes a script by drawing.
type author struct {
	*rand.Rand
	short bool // leases end by themselves, within the history
	cuts  int  // answers that may still be lost
}

// NewScript writes the Index-th script of a seed.
func NewScript(seed, index uint64) Script {
	a := author{Rand: rand.New(rand.NewPCG(seed, index))}
	switch k := a.IntN(100); {
	case k < 5:
		a.short = true
	case k < 10:
		a.cuts = 1 + a.IntN(2)
	}
	s := Script{Seed: seed, Index: index, Copies: 1, Request: Call{Verb: Enqueue, Budget: 1 + a.IntN(4), Later: a.chance(15)}}
	if a.chance(10) {
		s.Copies = 3
	}
	for client := range who {
		s.Clients = append(s.Clients, a.client(client))
	}
	if s.Request.Later {
		s.Clients[world] = append([]Step{{Call: Call{Verb: ComeDue}}, {Call: Call{Verb: Promote}}}, s.Clients[world]...)
	}
	return s
}

func (a *author) chance(percent int) bool { return a.IntN(100) < percent }

func (a *author) client(client int) []Step {
	write, n := a.worker, 1+a.IntN(3)
	switch client {
	case closer:
		return a.closer()
	case operator:
		write, n = a.operator, 1+a.IntN(2)
	case world:
		write, n = a.world, 2+a.IntN(3)
	}
	var steps []Step
	for range n {
		steps = append(steps, write())
	}
	return steps
}

func (a *author) closer() (steps []Step) {
	for _, verb := range closing {
		steps = append(steps, Step{Call: Call{Verb: verb}})
	}
	return steps
}

// pick draws one of the entries by their weights.
func pick[T any](a *author, weights map[int]int, entries ...T) T {
	total := 0
	for i := range entries {
		total += weights[i]
	}
	k := a.IntN(total)
	for i := range entries {
		if k -= weights[i]; k < 0 {
			return entries[i]
		}
	}
	panic("unreachable")
}

var workerWeights = map[int]int{0: 26, 1: 15, 2: 17, 3: 17, 4: 12, 5: 5, 6: 3, 7: 2, 8: 3}

func (a *author) worker() Step {
	step := Step{Call: Call{Verb: pick(a, workerWeights, ClaimJob, Renew, Complete, Fail, Release, Expire, Promote, Find, Enqueue)}}
	step.Call.Short = a.short && a.chance(70)
	switch step.Call.Verb {
	case Complete:
		if a.chance(40) {
			step.Call.FollowUps = 1 + a.IntN(2)
		}
	case Fail:
		step.Call.Later, step.Call.Permanent = a.chance(50), a.chance(12)
	case Release:
		step.Call.Started = a.chance(50)
	case Enqueue:
		step.Call.Other = a.chance(50)
	}
	step.Whose = pick(a, whoseWeights, Mine, Theirs, Stranger, Raised, Lowered, Echo)
	step.Back, step.Again = pick(a, backWeights, 0, 1, 2), a.chance(50)
	step.Cut = a.cut(step.Call.Verb)
	return step
}

var (
	whoseWeights = map[int]int{0: 62, 1: 12, 2: 5, 3: 4, 4: 4, 5: 13}
	backWeights  = map[int]int{0: 80, 1: 14, 2: 6}
)

// cut lets the answer be lost. Sweeps are left whole, because they concern more
// than this history's job; so are histories with short leases, where a lost
// answer would leave two things open at once.
func (a *author) cut(verb Verb) time.Duration {
	if a.cuts == 0 || verb == Expire || verb == Promote || verb == Find || verb == Enqueue || !a.chance(25) {
		return 0
	}
	a.cuts--
	return time.Duration(50+a.IntN(1500)) * time.Microsecond
}

var operatorWeights = map[int]int{0: 40, 1: 20, 2: 12, 3: 8, 4: 12, 5: 10, 6: 4}

func (a *author) operator() Step {
	verb := pick(a, operatorWeights, Requeue, Terminate, Read, Correct, Amend, Erase, Note)
	call := Call{Verb: verb}
	if verb == Amend {
		call.Budget, call.Args = 2+a.IntN(5), a.chance(40)
	}
	return Step{Call: call, Fresh: a.chance(70), Back: pick(a, backWeights, 0, 1, 2), Cut: a.cut(verb)}
}

var worldWeights = map[int]int{0: 34, 1: 22, 2: 16, 3: 14, 4: 14}

func (a *author) world() Step {
	step := Step{Call: Call{Verb: pick(a, worldWeights, Lapse, Expire, ComeDue, Promote, Hold)}}
	if step.Call.Verb != Hold {
		return step
	}
	step.Call.Update, step.Call.Commit = a.chance(40), a.chance(50)
	step.Wait = time.Duration(200+a.IntN(800)) * time.Microsecond
	if a.short {
		step.Wait = shortLease + time.Duration(a.IntN(2000))*time.Microsecond
	}
	return step
}

// shortLease ends while a history lasts.
const shortLease = 3 * time.Millisecond
