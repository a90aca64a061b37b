package store_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

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
		"an amendment lowers the budget":             {"I7", newScribe().enqueue(store.Available).amend(store.Available).with(1, func(t *store.Transition) { t.MaxAttempts = 2 })},
		"a note charges an attempt":                  {"I7", started().note().with(1, func(t *store.Transition) { t.Attempts = 2 })},
		"a running job gets other args":              {"I11", started().amend(store.Running).with(1, func(t *store.Transition) { t.Queue = "default" })},
		"a running job gets into another queue":      {"I11", started().amend(store.Running).with(1, func(t *store.Transition) { t.Detail.ArgsVersion = 0 })},
		"a version of the args is left out":          {"I11", newScribe().enqueue(store.Available).amend(store.Available).with(1, func(t *store.Transition) { t.Detail.ArgsVersion = 3 })},
		"a note changes the args":                    {"I11", started().note().with(1, func(t *store.Transition) { t.Detail.ArgsVersion = 2 })},
		"an erased job runs without args":            {"I11", started().complete().erase().requeue()},
		"a job is erased twice":                      {"I11", started().complete().erase().erase()},
		"a waiting job is erased":                    {"I5", newScribe().enqueue(store.Available).erase()},
		"an amendment ends a job":                    {"I5", newScribe().enqueue(store.Available).amend(store.Discarded)},
		"an amendment brings a job back":             {"I5", started().complete().amend(store.Available)},
		"a note moves a job":                         {"I5", newScribe().enqueue(store.Scheduled).note().with(1, func(t *store.Transition) { t.To = store.Available })},
		"a claim comes from another queue":           {"I5", started().with(1, func(t *store.Transition) { t.Queue = "other" })},
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
	for range 800 {
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
	if len(seen) != 14 {
		t.Errorf("the logs hold only %v", seen)
	}
}
