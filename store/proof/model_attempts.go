package proof

import (
	"slices"

	"github.com/fenceline/fenceline/store"
)

// claim: available jobs only. It raises the generation by one and charges one
// attempt. A row that somebody holds is stepped over.
func (s State) claim(c Call) []Outcome {
	nothing := Outcome{s, Answer{}}
	if s.State != store.Available {
		return []Outcome{nothing}
	}
	next := s.change(store.Running)
	next.Claims = append(slices.Clone(s.Claims), Claim{Attempt: c.By.Attempt})
	next.Used++
	next.Lease = c.lease()
	claimed := Outcome{next, Answer{Verdict: Accepted, Generation: next.generation(), Used: next.Used, Budget: next.Budget}}
	if c.Alone {
		return []Outcome{claimed}
	}
	return []Outcome{claimed, nothing}
}

// find: which job this attempt holds.
func (s State) find(c Call) []Outcome {
	if s.State != store.Running || s.current().Attempt != c.By.Attempt {
		return one(s, Answer{})
	}
	return one(s, Answer{Verdict: Accepted, Generation: s.generation(), Used: s.Used, Budget: s.Budget})
}

// offered is a write of an attempt.
func (s State) offered(c Call) []Outcome {
	var out []Outcome
	for _, t := range s.times() {
		out = append(out, t.offer(c))
	}
	return out
}

func (s State) offer(c Call) Outcome {
	verdict := s.verdict(c.Verb, c.By)
	switch verdict {
	case Accepted:
		next, linked := s.accept(c)
		return Outcome{next, Answer{Verdict: Accepted, State: next.State, Linked: linked}}
	case Repeated:
		return Outcome{s, Answer{Verdict: Repeated, State: s.State}}
	}
	s.Refused++
	s.Log++
	return Outcome{s, Answer{Verdict: verdict, Generation: s.generation()}}
}

// verdict is the guard: attempt and generation are the row's, the job runs, and
// the deadline lies ahead. What it refuses, it names.
func (s State) verdict(verb Verb, by Fence) Verdict {
	var lane Claim // the attempt's own life, if this fence was ever issued
	if by.Generation >= 1 && by.Generation <= s.generation() && s.Claims[by.Generation-1].Attempt == by.Attempt {
		lane = s.Claims[by.Generation-1]
	}
	current := lane.Attempt != 0 && by.Generation == s.generation()
	switch {
	case current && s.State == store.Running && s.Lease != Passed:
		return Accepted
	case lane.Attempt != 0 && lane.End != "" && lane.End == endOf[verb]:
		return Repeated
	case !current:
		return Verdict(store.ReasonSuperseded)
	case s.State == store.Terminated || lane.End == store.EndTerminated:
		return Verdict(store.ReasonTerminated)
	case s.State == store.Running || lane.End == store.EndExpired:
		return Verdict(store.ReasonLeaseExpired)
	}
	return Verdict(store.ReasonAlreadyEnded)
}

var endOf = map[Verb]store.End{Complete: store.EndCompleted, Fail: store.EndFailed, Release: store.EndReleased}

// accept is what an accepted write changes.
func (s State) accept(c Call) (next State, linked int) {
	switch c.Verb {
	case Renew:
		s.Lease = c.lease()
		s.Log++
		return s, 0
	case Complete:
		linked = min(c.FollowUps, s.FollowUps)
		s.FollowUps = max(c.FollowUps, s.FollowUps)
		s.Result, s.ResultBy = c.Result, c.By
		return s.ended(store.EndCompleted).change(store.Completed), linked
	case Fail:
		s.Errors++
		return s.ended(store.EndFailed).becomes(s.afterFailure(c)), 0
	}
	if !c.Started {
		s.Used--
	}
	to := store.Available
	if s.Used >= s.Budget {
		to = store.Discarded
	}
	return s.ended(store.EndReleased).change(to), 0
}

func (s State) afterFailure(c Call) store.State {
	switch {
	case c.Permanent || s.Used >= s.Budget:
		return store.Discarded
	case c.Later:
		return store.Retryable
	}
	return store.Available
}
