package worker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// lossy does what it is told and loses the answer, for the first calls of each
// verb: the connection died after the commit.
type lossy struct {
	*store.Store
	mu   sync.Mutex
	lose map[string]int
}

func (l *lossy) lost(verb string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lose[verb] == 0 {
		return nil
	}
	l.lose[verb]--
	return io.ErrUnexpectedEOF
}

func answer[T any](l *lossy, verb string, got T, err error) (T, error) {
	if err == nil {
		err = l.lost(verb)
	}
	if err != nil {
		var none T
		return none, err
	}
	return got, nil
}

func (l *lossy) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	got, err := l.Store.Claim(ctx, p)
	if len(got) == 0 {
		return got, err
	}
	return answer(l, "claim", got, err)
}

func (l *lossy) ClaimedBy(ctx context.Context, ids []uuid.UUID) ([]store.Claimed, error) {
	got, err := l.Store.ClaimedBy(ctx, ids)
	return answer(l, "look", got, err)
}

func (l *lossy) Renew(ctx context.Context, w string, b []store.Renewal) ([]store.Outcome, error) {
	got, err := l.Store.Renew(ctx, w, b)
	return answer(l, "renew", got, err)
}

func (l *lossy) Complete(ctx context.Context, w string, b []store.Completion) ([]store.Outcome, error) {
	got, err := l.Store.Complete(ctx, w, b)
	return answer(l, "complete", got, err)
}

func (l *lossy) Fail(ctx context.Context, w string, b []store.Failure) ([]store.Outcome, error) {
	got, err := l.Store.Fail(ctx, w, b)
	return answer(l, "fail", got, err)
}

// Case B09, reliability test 29: the commit landed and its answer did not.
func TestALostAnswerIsRepeatedAndNothingHappensTwice(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	l := &lossy{Store: st, lose: map[string]int{"claim": 2, "look": 1, "renew": 1, "complete": 2, "fail": 2}}
	p := newPool(l, config(t))
	p.store = st
	Handle(p, "flaky", handler(func(_ context.Context, job Job[json.RawMessage]) error {
		if job.Attempt.Number == 1 {
			return errTest
		}
		return nil
	}))
	b := newBlocking()
	Handle(p, "slow", b.handle, Options{Lease: steady})
	flaky, slow := enqueueKind(t, st, "flaky"), enqueueKind(t, st, "slow")
	run(t, p)
	receive(t, b.started)
	storetest.Await(t, "the slow job was renewed past the lost answer", func() bool {
		return len(only(transitions(t, st, slow), store.TypeRenewed)) >= 3
	})
	b.proceed <- nil
	awaitState(t, st, flaky, store.Completed)
	awaitState(t, st, slow, store.Completed)
	storetest.Await(t, "everything is settled", func() bool { return p.Stats().Unsettled == 0 })
	story := []store.Type{store.TypeClaimed, store.TypeFailed, store.TypeExpired, store.TypeCompleted, store.TypeRejected}
	expect(t, "the flaky job", only(transitions(t, st, flaky), story...), "claimed", "failed", "claimed", "completed")
	expect(t, "the slow job", only(transitions(t, st, slow), story...), "claimed", "completed")
	if job := jobNow(t, st, slow); job.Attempts != 1 {
		t.Errorf("%d attempts used", job.Attempts)
	}
	for verb, left := range l.lose {
		if left != 0 {
			t.Errorf("%d answers of %s were not lost", left, verb)
		}
	}
	consistent(t, st)
}

// poisoned refuses every batch of completions that holds a certain job.
type poisoned struct {
	*store.Store
	job  atomic.Int64
	code string
}

func (s *poisoned) Complete(ctx context.Context, w string, b []store.Completion) ([]store.Outcome, error) {
	for _, c := range b {
		if c.Lease.JobID == s.job.Load() {
			return nil, &pgconn.PgError{Code: s.code, Severity: "ERROR", SeverityUnlocalized: "ERROR"}
		}
	}
	return s.Store.Complete(ctx, w, b)
}

func TestOneMemberThatTheDatabaseRefusesHoldsNobodyElseUp(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	ids := make([]int64, 60)
	for i := range ids {
		ids[i] = enqueueKind(t, st, "noop")
	}
	bad := ids[37]
	cfg := config(t)
	cfg.Queues = map[string]int{"default": 60}
	refusing := &poisoned{Store: st, code: "22P05"}
	refusing.job.Store(bad)
	p := newPool(refusing, cfg)
	p.store = st
	HandleNoop(p)
	run(t, p)
	for _, id := range ids {
		if id != bad {
			awaitState(t, st, id, store.Completed)
		}
	}
	awaitState(t, st, bad, store.Discarded)
	expect(t, "the bad one", only(transitions(t, st, bad), store.TypeFailed, store.TypeRejected, store.TypeExpired), "failed result_unstorable")
}

// After a lost answer the write may have been accepted. A renewal behind it
// would be refused, and stand on the timeline as a stale write of a healthy
// attempt.
func TestNothingIsRenewedAfterACompletionWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	l := &lossy{Store: st, lose: map[string]int{"complete": 7}} // longer than a third of the lease
	p := newPool(l, config(t))
	p.store = st
	HandleNoop(p, Options{Lease: brief})
	id := enqueueKind(t, st, "noop")
	run(t, p)
	storetest.Await(t, "the completion is settled", func() bool { return p.Stats().Completed == 1 })
	if l.lose["complete"] != 0 {
		t.Errorf("%d answers were not lost", l.lose["complete"])
	}
	expect(t, "transitions", only(transitions(t, st, id), store.TypeClaimed, store.TypeCompleted, store.TypeRejected, store.TypeExpired),
		"claimed", "completed")
}

// A database that answers, but can store nothing for longer than the lease.
func TestALeaseIsRenewedWhileItsCompletionIsRefusedAndRepeated(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id := enqueueKind(t, st, "noop")
	full := &poisoned{Store: st, code: "53100"}
	full.job.Store(id)
	p := newPool(full, config(t))
	p.store = st
	HandleNoop(p, Options{Lease: steady})
	run(t, p)
	storetest.Await(t, "the lease was renewed for longer than it is", func() bool {
		return len(only(transitions(t, st, id), store.TypeRenewed)) >= 4
	})
	if job := jobNow(t, st, id); job.State != store.Running || job.Generation != 1 {
		t.Errorf("the job is %s in generation %d", job.State, job.Generation)
	}
	full.job.Store(0)
	awaitState(t, st, id, store.Completed)
	expect(t, "transitions", only(transitions(t, st, id), store.TypeExpired, store.TypeRejected, store.TypeFailed))
}

// A member whose row somebody locks is offered again until it is free, under a
// lease that is renewed meanwhile.
func TestACompletionBehindALockedRowIsRepeatedUnderARenewedLease(t *testing.T) {
	t.Parallel()
	_, url := storetest.NewWithURL(t)
	st := storetest.Open(t, store.Config{URL: url, LockTimeout: 150 * time.Millisecond})
	b := newBlocking()
	p := New(st, config(t))
	Handle(p, "slow", b.handle, Options{Lease: steady})
	HandleNoop(p)
	id := enqueueKind(t, st, "slow")
	run(t, p)
	receive(t, b.started)
	conn := owner(t, url)
	do(t, conn, "begin")
	do(t, conn, "select from fenceline.jobs where id = $1 for update", id)
	b.proceed <- nil
	other := enqueueKind(t, st, "noop")
	awaitState(t, st, other, store.Completed)
	storetest.Await(t, "the completion waits", func() bool { s := p.Stats(); return s.Running == 0 && s.Unsettled == 1 })
	do(t, conn, "commit")
	awaitState(t, st, id, store.Completed)
	expect(t, "transitions", only(transitions(t, st, id), store.TypeExpired, store.TypeRejected, store.TypeFailed))
}

func TestWhatAnErrorSaysAboutABatch(t *testing.T) {
	t.Parallel()
	pg := func(code, severity string) error {
		return errors.Join(errors.New("complete"), &pgconn.PgError{Code: code, Severity: severity, SeverityUnlocalized: severity})
	}
	for name, c := range map[string]struct {
		err              error
		answered, member bool
	}{
		"connection lost":  {io.ErrUnexpectedEOF, false, false},
		"backend killed":   {pg("57P01", "FATAL"), false, false},
		"deadlock":         {pg("40P01", "ERROR"), true, false},
		"read-only":        {pg("25006", "ERROR"), true, false},
		"disk full":        {pg("53100", "ERROR"), true, false},
		"lock timeout":     {pg("55P03", "ERROR"), true, true},
		"slow statement":   {pg("57014", "ERROR"), true, true},
		"unstorable":       {pg("22P05", "ERROR"), true, true},
		"constraint":       {pg("23514", "ERROR"), true, true},
		"context deadline": {context.DeadlineExceeded, false, false},
	} {
		if isAnswer(c.err) != c.answered || concernsMember(c.err) != c.member {
			t.Errorf("%s: answered %t, concerns a member %t", name, isAnswer(c.err), concernsMember(c.err))
		}
	}
}

// Reliability test 31: the server ends every connection, again and again.
func TestWorkGoesOnWhileTheServerCutsEveryConnection(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	conn := owner(t, url)
	requests := make([]store.Request, 400)
	for i := range requests {
		requests[i] = store.Request{Kind: "short", MaxAttempts: 50}
	}
	all, err := st.EnqueueMany(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	p := New(st, config(t))
	Handle(p, "short", handler(func(context.Context, Job[json.RawMessage]) error {
		time.Sleep(5 * time.Millisecond)
		return nil
	}), Options{Lease: 30 * time.Second})
	run(t, p)
	for cut := range 10 {
		storetest.Await(t, "more is done", func() bool { return p.Stats().Completed >= int64(30*cut) })
		do(t, conn, `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid() and application_name = 'fenceline'`)
	}
	storetest.Await(t, "everything is settled", func() bool {
		s := p.Stats()
		return s.Unsettled == 0 && s.Claimed >= int64(len(all)) && s.Completed >= int64(len(all))
	})
	for _, e := range all {
		var job store.Job
		storetest.Await(t, "the job is completed", func() bool {
			var err error
			job, err = st.Job(context.Background(), e.ID)
			return err == nil && job.State == store.Completed
		})
		expect(t, "transitions", only(transitions(t, st, e.ID), store.TypeCompleted, store.TypeRejected), "completed")
	}
	consistent(t, st)
}
