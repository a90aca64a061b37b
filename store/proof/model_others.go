package proof

import "github.com/fenceline/fenceline/store"

// expire: running and the deadline passed. Available at the first expiry, later
// with a wait, discarded when the budget is spent.
func (s State) expire(c Call) []Outcome {
	var out []Outcome
	for _, t := range s.times() {
		due := t.State == store.Running && t.Lease == Passed
		if due {
			out = append(out, Outcome{t.ended(store.EndExpired).becomes(t.afterExpiry()), Answer{Verdict: Accepted}})
		}
		if !due || !c.Alone {
			out = append(out, Outcome{t, Answer{}})
		}
	}
	return out
}

func (s State) afterExpiry() store.State {
	switch {
	case s.Used >= s.Budget:
		return store.Discarded
	case s.Used <= 1:
		return store.Available
	}
	return store.Retryable
}

// promote: scheduled or retryable, and due.
func (s State) promote(c Call) []Outcome {
	due := (s.State == store.Scheduled || s.State == store.Retryable) && s.Due == Passed
	var out []Outcome
	if due {
		out = append(out, Outcome{s.becomes(store.Available), Answer{Verdict: Accepted}})
	}
	if !due || !c.Alone {
		out = append(out, Outcome{s, Answer{}})
	}
	return out
}

// operate: an operator's verb, bound to the revision that was seen. Accepted or
// not, it is audited, and the answer shows the row.
func (s State) operate(c Call) []Outcome {
	verdict := s.operable(c)
	if verdict == Impossible {
		return one(s, Answer{Verdict: verdict})
	}
	s.Audited++
	if verdict == Accepted {
		s = s.operated(c)
	}
	return one(s, Answer{Verdict: verdict, Row: s.row()})
}

func (s State) operated(c Call) State {
	switch c.Verb {
	case Requeue:
		return s.requeue()
	case Terminate:
		return s.terminate()
	case Correct:
		return s.corrected().requeue()
	case Amend:
		s.Budget = c.Budget
		if c.Args {
			s = s.corrected()
		}
	case Erase:
		s.Erased, s.Forgotten, s.Kept, s.Result, s.ResultBy = true, true, 0, "", Fence{}
	}
	return s.change(s.State)
}

// corrected gives the job other args and keeps those that it had.
func (s State) corrected() State {
	if !s.Erased {
		s.Kept++
	}
	s.Args, s.Erased = s.Args+1, false
	return s
}

func (s State) operable(c Call) Verdict {
	switch {
	case c.Seen != s.Revision:
		return Verdict(store.ConflictChanged)
	case (c.Verb == Requeue || c.Verb == Correct) && s.State == store.Available:
		return Verdict(store.ConflictAlreadyWaiting)
	case (c.Verb == Requeue || c.Verb == Erase) && s.Erased:
		return Verdict(store.ConflictErased)
	case c.Verb == Erase && !s.State.Terminal():
		return Verdict(store.ConflictNotEnded)
	case c.Args && s.State == store.Running:
		return Verdict(store.ConflictRunning)
	case c.Args && s.State.Terminal():
		return Verdict(store.ConflictAlreadyEnded)
	case c.Verb == Amend && c.Budget <= s.Budget:
		return Impossible
	case c.Verb == Terminate && s.State.Terminal():
		return Verdict(store.ConflictAlreadyEnded)
	}
	return Accepted
}

// requeue takes the lease of a running job away and leaves room for one more
// attempt. A stored result stays.
func (s State) requeue() State {
	if s.State == store.Running {
		s = s.ended(store.EndRequeued)
	}
	s.Budget = max(s.Budget, s.Used+1)
	return s.becomes(store.Available)
}

func (s State) terminate() State {
	if s.State == store.Running {
		s = s.ended(store.EndTerminated)
	}
	return s.becomes(store.Terminated)
}

// lapse: the environment lets the deadline of a running job pass.
func (s State) lapse() []Outcome {
	if s.State != store.Running {
		return one(s, Answer{})
	}
	s.Lease = Passed
	return one(s, Answer{Verdict: Accepted})
}

// comeDue: the environment lets the due time of a waiting job come.
func (s State) comeDue() []Outcome {
	if s.State != store.Scheduled && s.State != store.Retryable {
		return one(s, Answer{})
	}
	s.Due = Passed
	return one(s, Answer{Verdict: Accepted})
}

// hold: another session holds the row for a while and, before it lets go,
// looks at it and at the clock.
func (s State) hold() []Outcome {
	var out []Outcome
	for _, t := range s.times() {
		alive := t.State == store.Running && t.Lease != Passed
		out = append(out, Outcome{t, Answer{Row: t.row(), Alive: alive}})
	}
	return out
}
