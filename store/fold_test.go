package store_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// scribe writes a legal log, as the protocol's tables say, by keeping the row
// beside it.
type scribe struct {
	log []store.Transition
	row store.Job
	now time.Time
}

func newScribe() *scribe {
	s := &scribe{now: time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)}
	s.row = store.Job{ID: 7, Kind: "report", Queue: "default", MaxAttempts: 3}
	return s
}

func (s *scribe) write(t store.Transition) {
	s.now = s.now.Add(time.Second)
	t.ID, t.JobID, t.Kind, t.Queue, t.At = int64(100+10*len(s.log)), s.row.ID, s.row.Kind, s.row.Queue, s.now
	s.log = append(s.log, t)
}

// change writes a change of the row.
func (s *scribe) change(typ store.Type, to store.State, t store.Transition) {
	s.row.Revision++
	t.Type, t.From, t.To, t.Revision = typ, s.row.State, to, s.row.Revision
	t.Attempts, t.MaxAttempts = s.row.Attempts, s.row.MaxAttempts
	if typ != store.TypeEnqueued && typ != store.TypePromoted {
		t.Generation = s.row.Generation
	}
	if s.row.State == store.Running || to == store.Running {
		t.AttemptID = s.row.AttemptID
	}
	s.write(t)
	s.row.State, s.row.FinishedAt = to, time.Time{}
	if to.Terminal() {
		s.row.FinishedAt = s.now
	}
	if !t.RunAt.IsZero() {
		s.row.RunAt = t.RunAt
	}
}

func (s *scribe) enqueue(state store.State) *scribe {
	s.change(store.TypeEnqueued, state, store.Transition{RunAt: s.now})
	return s
}

func (s *scribe) promote() *scribe {
	s.change(store.TypePromoted, store.Available, store.Transition{RunAt: s.row.RunAt})
	return s
}

func (s *scribe) claim() *scribe {
	s.row.Generation++
	s.row.Attempts++
	s.row.AttemptID, s.row.AttemptEnd = attemptOf(s.row.Generation), ""
	s.row.LeaseUntil = s.now.Add(31 * time.Second)
	s.change(store.TypeClaimed, store.Running, store.Transition{LeaseUntil: s.row.LeaseUntil, Worker: "w"})
	return s
}

// attemptOf is the attempt of a generation, the same in every log.
func attemptOf(generation int64) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, generation))
}

func (s *scribe) renew() *scribe {
	s.row.LeaseUntil = s.now.Add(41 * time.Second)
	s.write(store.Transition{Type: store.TypeRenewed, AttemptID: s.row.AttemptID, Generation: s.row.Generation, LeaseUntil: s.row.LeaseUntil})
	return s
}

func (s *scribe) end(typ store.Type, end store.End, to store.State, t store.Transition) *scribe {
	s.change(typ, to, t)
	s.row.AttemptEnd = end
	return s
}

func (s *scribe) complete() *scribe {
	s.row.ResultAttemptID, s.row.ResultGeneration = s.row.AttemptID, s.row.Generation
	return s.end(store.TypeCompleted, store.EndCompleted, store.Completed, store.Transition{})
}

func (s *scribe) fail(to store.State) *scribe {
	return s.end(store.TypeFailed, store.EndFailed, to, store.Transition{RunAt: s.now.Add(time.Minute)})
}

func (s *scribe) expire(to store.State) *scribe {
	s.now = s.row.LeaseUntil
	return s.end(store.TypeExpired, store.EndExpired, to, store.Transition{RunAt: s.now.Add(time.Second), LeaseUntil: s.row.LeaseUntil})
}

func (s *scribe) release(started bool) *scribe {
	to := store.Available
	if !started {
		s.row.Attempts--
	} else if s.row.Attempts >= s.row.MaxAttempts {
		to = store.Discarded
	}
	return s.end(store.TypeReleased, store.EndReleased, to, store.Transition{RunAt: s.row.RunAt, Detail: store.Detail{Unstarted: !started}})
}

func (s *scribe) reject(generation int64) *scribe {
	s.write(store.Transition{Type: store.TypeRejected, Op: store.OpComplete, Reason: string(store.ReasonSuperseded), AttemptID: attemptOf(generation),
		Generation: generation, Detail: store.Detail{Current: s.row.Generation}})
	return s
}

func (s *scribe) requeue() *scribe {
	s.row.MaxAttempts = max(s.row.MaxAttempts, s.row.Attempts+1)
	running := s.row.State == store.Running
	s.change(store.TypeRequeued, store.Available, store.Transition{RunAt: s.now, Actor: "oncall"})
	if running {
		s.row.AttemptEnd = store.EndRequeued
	}
	return s
}

func (s *scribe) terminate() *scribe {
	running := s.row.State == store.Running
	s.change(store.TypeTerminated, store.Terminated, store.Transition{Actor: "oncall"})
	if running {
		s.row.AttemptEnd = store.EndTerminated
	}
	return s
}

// with changes the nth transition from the end.
func (s *scribe) with(back int, change func(*store.Transition)) *scribe {
	change(&s.log[len(s.log)-back])
	return s
}

func TestAFoldReportsTheInvariantThatALogBreaks(t *testing.T) {
	t.Parallel()
	type log = *scribe
	started := func() log { return newScribe().enqueue(store.Available).claim() }
	handed := func() log { return started().expire(store.Available).claim() }
	first := func(t *store.Transition) { t.AttemptID, t.Generation = attemptOf(1), 1 }
	late := func(t *store.Transition) { t.At = t.At.Add(time.Hour) }
	for name, c := range map[string]struct {
		invariant string
		log       log
	}{
		"a claim skips a generation":                 {"I1", started().with(1, func(t *store.Transition) { t.Generation = 2 })},
		"a claim repeats a generation":               {"I1", handed().with(1, func(t *store.Transition) { t.Generation = 1 })},
		"a claim lowers the generation":              {"I1", handed().fail(store.Available).claim().with(1, func(t *store.Transition) { t.Generation = 1 })},
		"an attempt id is claimed twice":             {"I1", handed().with(1, func(t *store.Transition) { t.AttemptID = attemptOf(1) })},
		"a claim has no attempt id":                  {"I1", started().with(1, func(t *store.Transition) { t.AttemptID = uuid.Nil })},
		"a renewal comes at the deadline":            {"I2", started().renew().with(1, func(t *store.Transition) { t.At = t.LeaseUntil.Add(-11 * time.Second) })},
		"a renewal comes after the deadline":         {"I2", started().renew().with(1, late)},
		"a superseded attempt renews":                {"I2", handed().renew().with(1, first)},
		"an attempt renews after its end":            {"I2", started().fail(store.Retryable).renew()},
		"an attempt renews after its own completion": {"I2", started().complete().renew()},
		"a claim's deadline had passed":              {"I2", started().with(1, func(t *store.Transition) { t.LeaseUntil = t.At })},
		"an attempt fails twice":                     {"I3", started().fail(store.Available).fail(store.Available)},
		"an attempt expires after it failed":         {"I3", started().fail(store.Available).expire(store.Available)},
		"a superseded attempt fails":                 {"I3", handed().fail(store.Retryable).with(1, first)},
		"a superseded attempt is released":           {"I3", handed().release(true).with(1, first)},
		"a failure is accepted after the deadline":   {"I3", started().fail(store.Retryable).with(1, late)},
		"a lease expires before its deadline":        {"I3", started().expire(store.Available).with(1, func(t *store.Transition) { t.At = t.At.Add(-10 * time.Second) })},
		"the wrong attempt expires":                  {"I3", handed().expire(store.Available).with(1, first)},
		"a superseded result is accepted":            {"I4", handed().complete().with(1, first)},
		"the generation fits but not the attempt":    {"I4", started().complete().with(1, func(t *store.Transition) { t.AttemptID = attemptOf(9) })},
		"a result is accepted after the deadline":    {"I4", started().complete().with(1, late)},
		"a result is accepted after an expiry":       {"I4", started().expire(store.Available).complete()},
		"a change is left out":                       {"I5", drop(handed(), 2)},
		"a change is there twice":                    {"I5", newScribe().enqueue(store.Available).enqueue(store.Available)},
		"a revision is skipped":                      {"I5", started().with(1, func(t *store.Transition) { t.Revision++ })},
		"a scheduled job is claimed":                 {"I5", newScribe().enqueue(store.Scheduled).claim()},
		"a completed job is terminated":              {"I5", started().complete().terminate()},
		"a waiting job is requeued":                  {"I5", newScribe().enqueue(store.Available).requeue()},
		"a change says it left another state":        {"I5", started().with(1, func(t *store.Transition) { t.From = store.Scheduled })},
		"a completion leads elsewhere":               {"I5", started().complete().with(1, func(t *store.Transition) { t.To = store.Available })},
		"the log begins in the middle":               {"I5", drop(drop(started().complete(), 3), 2)},
		"a claim is not charged":                     {"I7", started().with(1, func(t *store.Transition) { t.Attempts = 0 })},
		"a fourth claim of three":                    {"I7", spent().claim()},
		"a failure gives its attempt back":           {"I7", started().fail(store.Retryable).with(1, func(t *store.Transition) { t.Attempts = 0 })},
		"a started attempt is released uncharged":    {"I7", started().release(true).with(1, func(t *store.Transition) { t.Attempts = 0 })},
		"a promotion raises the budget":              {"I7", started().fail(store.Retryable).promote().with(1, func(t *store.Transition) { t.MaxAttempts = 9 })},
		"a requeue grants two more attempts":         {"I7", spent().terminate().requeue().with(1, func(t *store.Transition) { t.MaxAttempts = 5 })},
		"a result is accepted after terminated":      {"I9", started().terminate().complete()},
		"a renewal is accepted after terminated":     {"I9", started().terminate().renew()},
		"a failure is accepted after terminated":     {"I9", started().terminate().fail(store.Retryable)},
		"a terminated job is claimed":                {"I9", newScribe().enqueue(store.Available).terminate().claim()},
		"a terminated job is promoted":               {"I9", newScribe().enqueue(store.Scheduled).terminate().promote()},
		"a terminated job is terminated once more":   {"I9", started().terminate().terminate()},
	} {
		h := store.Fold(c.log.log)
		if !slices.ContainsFunc(h.Violations, func(v store.Violation) bool {
			return v.Invariant == c.invariant && v.JobID == 7 && v.Transition != 0 && v.Message != ""
		}) {
			t.Errorf("%s: want %s, found %v", name, c.invariant, h.Violations)
		}
	}
}

// drop leaves the nth transition from the end out.
func drop(s *scribe, back int) *scribe {
	at := len(s.log) - back
	s.log = slices.Delete(s.log, at, at+1)
	return s
}

// spent has used its three attempts, but waits.
func spent() *scribe {
	s := newScribe().enqueue(store.Available)
	for range 3 {
		s.claim().fail(store.Available)
	}
	return s
}

func TestAFoldTellsTheStoryOfThePausedWorker(t *testing.T) {
	t.Parallel()
	s := newScribe().enqueue(store.Available).claim().renew().expire(store.Available).claim().reject(1).complete().reject(1)
	h := store.Fold(s.log)
	if len(h.Violations) != 0 || len(h.Differences(s.row)) != 0 {
		t.Fatal(h.Violations, h.Differences(s.row))
	}
	if len(h.Lanes) != 2 || h.State != store.Completed || h.Generation != 2 || h.ResultGen != 2 || h.ResultBy != attemptOf(2) {
		t.Fatalf("%+v", h)
	}
	a, b := h.Lanes[0], h.Lanes[1]
	if a.End != store.EndExpired || len(a.Renewals) != 1 || len(a.Refused) != 2 || !a.LeaseUntil.Equal(s.log[2].LeaseUntil) || !a.EndedAt.Equal(s.log[3].At) {
		t.Errorf("A's lane %+v", a)
	}
	if b.End != store.EndCompleted || len(b.Refused) != 0 || !b.ClaimedAt.Equal(s.log[4].At) || !h.FinishedAt.Equal(s.log[6].At) {
		t.Errorf("B's lane %+v", b)
	}
}

func TestAFoldIgnoresWhatItHasSeen(t *testing.T) {
	t.Parallel()
	s := newScribe().enqueue(store.Available).claim().renew().expire(store.Available).reject(1).claim().complete().requeue()
	want := store.Fold(s.log)
	var twice store.History
	for i, tr := range s.log {
		twice.Add(tr)
		for _, old := range s.log[:i+1] {
			twice.Add(old)
		}
	}
	if !reflect.DeepEqual(want, twice) || len(want.Violations) != 0 {
		t.Errorf("with repeats:\n%+v\nwithout:\n%+v", twice, want)
	}
}

func TestAFoldMayStartAtABaseline(t *testing.T) {
	t.Parallel()
	whole := newScribe().enqueue(store.Available).claim().fail(store.Available).claim()
	row := whole.row
	late := &scribe{row: row, now: whole.now}
	late.write(store.Transition{Type: store.TypeBaseline, To: row.State, Generation: row.Generation, Revision: row.Revision, Attempts: row.Attempts,
		MaxAttempts: row.MaxAttempts, AttemptID: row.AttemptID, LeaseUntil: row.LeaseUntil, RunAt: row.RunAt})
	if h := store.Fold(late.log); len(h.Violations)+len(h.Differences(row)) != 0 {
		t.Errorf("at the baseline: %v %v", h.Violations, h.Differences(row))
	}
	late.renew().expire(store.Retryable).promote().claim().complete()
	h := store.Fold(late.log)
	if len(h.Violations)+len(h.Differences(late.row)) != 0 || len(h.Lanes) != 2 {
		t.Errorf("after the baseline: %v %v, %d lanes", h.Violations, h.Differences(late.row), len(h.Lanes))
	}
	broken := &scribe{row: row, now: whole.now, log: slices.Clone(late.log[:1])}
	broken.claim()
	if h := store.Fold(broken.log); len(h.Violations) == 0 {
		t.Error("a claim of a running job passes after a baseline")
	}
}

func TestARowThatDiffersFromItsLogIsToldFieldByField(t *testing.T) {
	t.Parallel()
	s := newScribe().enqueue(store.Available).claim().complete()
	h := store.Fold(s.log)
	for name, c := range map[string]struct {
		invariant string
		change    func(*store.Job)
	}{
		"state":            {"I5", func(j *store.Job) { j.State = store.Available }},
		"generation":       {"I5", func(j *store.Job) { j.Generation++ }},
		"revision":         {"I5", func(j *store.Job) { j.Revision++ }},
		"attempts used":    {"I5", func(j *store.Job) { j.Attempts-- }},
		"budget":           {"I5", func(j *store.Job) { j.MaxAttempts++ }},
		"attempt":          {"I5", func(j *store.Job) { j.AttemptID = attemptOf(9) }},
		"attempt's end":    {"I5", func(j *store.Job) { j.AttemptEnd = "" }},
		"deadline":         {"I5", func(j *store.Job) { j.LeaseUntil = j.LeaseUntil.Add(time.Microsecond) }},
		"due time":         {"I5", func(j *store.Job) { j.RunAt = j.RunAt.Add(-time.Microsecond) }},
		"finished":         {"I5", func(j *store.Job) { j.FinishedAt = time.Time{} }},
		"result's owner":   {"I4", func(j *store.Job) { j.ResultAttemptID = attemptOf(9) }},
		"no result":        {"I4", func(j *store.Job) { j.ResultAttemptID, j.ResultGeneration = uuid.Nil, 0 }},
		"generation of it": {"I4", func(j *store.Job) { j.ResultGeneration++ }},
	} {
		row := s.row
		if found := h.Differences(row); len(found) != 0 {
			t.Fatal(found)
		}
		c.change(&row)
		found := h.Differences(row)
		if len(found) != 1 || found[0].Invariant != c.invariant || found[0].JobID != 7 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestLegalLogsBreakNoInvariant(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	seen := map[store.Type]int{}
	for range 2000 {
		s := newScribe().enqueue([]store.State{store.Available, store.Scheduled}[random.IntN(2)])
		for range random.IntN(40) {
			s.anything(random)
			if h := store.Fold(s.log); len(h.Violations)+len(h.Differences(s.row)) != 0 {
				t.Fatalf("seed %d: %v %v\n%+v", seed, h.Violations, h.Differences(s.row), s.log)
			}
		}
		for _, tr := range s.log {
			seen[tr.Type]++
		}
	}
	if len(seen) != 11 {
		t.Errorf("the logs hold only %v", seen)
	}
}

// anything does something that the job's state allows.
func (s *scribe) anything(random *rand.Rand) {
	if s.row.Generation > 0 && random.IntN(6) == 0 {
		s.reject(1 + random.Int64N(s.row.Generation))
		return
	}
	retry := func() store.State {
		switch {
		case s.row.Attempts >= s.row.MaxAttempts:
			return store.Discarded
		case random.IntN(2) == 0:
			return store.Available
		}
		return store.Retryable
	}
	switch s.row.State {
	case store.Scheduled, store.Retryable:
		[]func() *scribe{s.promote, s.promote, s.requeue, s.terminate}[random.IntN(4)]()
	case store.Available:
		[]func() *scribe{s.claim, s.claim, s.claim, s.claim, s.terminate}[random.IntN(5)]()
	case store.Running:
		[]func() *scribe{s.renew, s.renew, s.complete, s.requeue, s.terminate,
			func() *scribe { return s.fail(retry()) }, func() *scribe { return s.fail(store.Discarded) },
			func() *scribe { return s.expire(retry()) }, func() *scribe { return s.release(random.IntN(2) == 0) }}[random.IntN(9)]()
	default:
		s.requeue()
	}
}
