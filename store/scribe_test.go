package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
	s.row = store.Job{ID: 7, Kind: "report", Queue: "default", MaxAttempts: 3, ArgsVersion: 1}
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
	if s.row.State != to {
		s.row.FinishedAt = time.Time{}
		if to.Terminal() {
			s.row.FinishedAt = s.now
		}
	}
	s.row.State = to
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

// amend changes all that can be changed of a job that waits.
func (s *scribe) amend(to store.State) *scribe {
	s.row.Priority, s.row.Queue = s.row.Priority+1, s.row.Queue+"x"
	s.row.MaxAttempts, s.row.ArgsVersion = s.row.MaxAttempts+1, s.row.ArgsVersion+1
	n := s.row.Priority
	s.row.Tags = []string{"seen"}
	s.change(store.TypeAmended, to, store.Transition{RunAt: s.now, Actor: "oncall",
		Detail: store.Detail{ArgsVersion: s.row.ArgsVersion, Priority: &n, TagAdded: "seen"}})
	return s
}

func (s *scribe) note() *scribe {
	s.change(store.TypeNoted, s.row.State, store.Transition{RunAt: s.row.RunAt, Actor: "oncall", Reason: "look here"})
	return s
}

func (s *scribe) erase() *scribe {
	s.row.ErasedAt, s.row.ResultAttemptID, s.row.ResultGeneration = s.now, uuid.Nil, 0
	s.change(store.TypeErased, s.row.State, store.Transition{RunAt: s.row.RunAt, Actor: "oncall"})
	return s
}

// correct is a requeue with other args.
func (s *scribe) correct() *scribe {
	s.row.ArgsVersion, s.row.ErasedAt = s.row.ArgsVersion+1, time.Time{}
	return s.requeue().with(1, func(t *store.Transition) { t.Detail.ArgsVersion = s.row.ArgsVersion })
}

// with changes the nth transition from the end.
func (s *scribe) with(back int, change func(*store.Transition)) *scribe {
	change(&s.log[len(s.log)-back])
	return s
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

// anything does something that the job's state allows.
func (s *scribe) anything(random *rand.Rand) {
	if s.row.Generation > 0 && random.IntN(6) == 0 {
		s.reject(1 + random.Int64N(s.row.Generation))
		return
	}
	if random.IntN(8) == 0 {
		s.note()
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
		waits := s.row.State
		[]func() *scribe{s.promote, s.promote, s.requeue, s.terminate, s.correct,
			func() *scribe { return s.amend(waits) }, func() *scribe { return s.amend(store.Available) }}[random.IntN(7)]()
	case store.Available:
		[]func() *scribe{s.claim, s.claim, s.claim, s.claim, s.terminate, func() *scribe { return s.amend(store.Scheduled) }}[random.IntN(6)]()
	case store.Running:
		[]func() *scribe{s.renew, s.renew, s.complete, s.requeue, s.terminate,
			func() *scribe { return s.fail(retry()) }, func() *scribe { return s.fail(store.Discarded) },
			func() *scribe { return s.expire(retry()) }, func() *scribe { return s.release(random.IntN(2) == 0) }}[random.IntN(9)]()
	default:
		if !s.row.ErasedAt.IsZero() {
			s.correct()
			return
		}
		[]func() *scribe{s.requeue, s.correct, s.erase}[random.IntN(3)]()
	}
}
