package worker

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// set changes a control, bound to what it is now.
func set(t testing.TB, st *store.Store, scope store.Scope, name string, change func(store.ControlParams) error) {
	t.Helper()
	c, err := st.Control(t.Context(), scope, name)
	if err == nil {
		err = change(store.ControlParams{Scope: scope, Name: name, Seen: &c.Revision, Actor: "test", Reason: "test"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func limit(t testing.TB, st *store.Store, scope store.Scope, name string, l store.Limits) {
	t.Helper()
	set(t, st, scope, name, func(p store.ControlParams) error { _, err := st.Limit(t.Context(), p, l); return err })
}

// mostAtOnceSQL replays who ran when: each claim counts from its own time to
// that of whatever ended it.
const mostAtOnceSQL = `
select coalesce(max(running), 0) from (
  select sum(step) over (order by at, step, id) as running from (
    select id, at, case type when 'claimed' then 1 else -1 end as step
    from fenceline.transitions
    where type = 'claimed' or from_state = 'running'
  ) e
) r`

// busiestSQL is the largest number of claims in any stretch of time of a length.
const busiestSQL = `
select coalesce(max(n), 0) from (
  select count(*) over (order by at range between $1::interval preceding and current row) as n
  from fenceline.transitions where type = 'claimed'
) c`

// Four processes work one queue under both limits, and one after another is
// killed. What ran when, and what was claimed when, is computed from the log.
func TestLimitsAreNeverExceededByFourProcessesThatAreKilled(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	limits := store.Limits{Concurrency: 3, Rate: store.Rate{N: 40, Per: time.Second}}
	limit(t, st, store.ScopeQueue, "default", limits)
	requests := make([]store.Request, 240)
	for i := range requests {
		requests[i] = store.Request{Kind: "quick", MaxAttempts: 50}
	}
	all, err := st.EnqueueMany(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	r := role{URL: url, Kinds: []string{"quick"}, Slots: 5, Lease: time.Second, Sweep: 20 * time.Millisecond}
	processes := []*child{spawn(t, r), spawn(t, r), spawn(t, r), spawn(t, r)}
	conn := owner(t, url)
	look := func(sql string, args ...any) (n int) {
		t.Helper()
		if err := conn.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i, victim := range processes {
		storetest.Await(t, "more jobs are completed", func() bool {
			return look("select count(*) from fenceline.jobs where state = 'completed'") >= 40*(i+1)
		})
		// Preferably one that holds something.
		held := func() bool {
			return look("select count(*) from fenceline.jobs where state = 'running' and worker = $1", victim.id()) > 0 ||
				look("select count(*) from fenceline.jobs where state = 'available'") == 0
		}
		storetest.Await(t, "the victim holds a job", held)
		victim.kill()
		spawn(t, r)
	}
	for _, e := range all {
		awaitState(t, st, e.ID, store.Completed)
	}
	if n := look(mostAtOnceSQL); n != limits.Concurrency {
		t.Errorf("%d jobs ran at once under a limit of %d", n, limits.Concurrency)
	}
	just := limits.Rate.Per - time.Microsecond
	if n := look(busiestSQL, just); n > limits.Rate.N || n < limits.Rate.N/2 {
		t.Errorf("%d jobs were claimed within %s under a limit of %d", n, just, limits.Rate.N)
	}
	consistent(t, st)
}

// The same processes without limits exceed both: the figures can tell.
func TestTheFiguresOfLimitsTellWhenThereAreNone(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	b := newBlocking()
	p := New(st, config(t))
	Handle(p, "hold", b.handle)
	for range 4 {
		enqueueKind(t, st, "hold")
	}
	run(t, p)
	for range 4 {
		receive(t, b.started)
	}
	conn := owner(t, url)
	var atOnce, busiest int
	if err := conn.QueryRow(t.Context(), mostAtOnceSQL).Scan(&atOnce); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), busiestSQL, time.Hour).Scan(&busiest); err != nil {
		t.Fatal(err)
	}
	if atOnce != 4 || busiest != 4 {
		t.Errorf("%d at once, %d in an hour", atOnce, busiest)
	}
	for range 4 {
		b.proceed <- nil
	}
}

// A limit that is lower than the slots costs no throughput beyond itself: the
// next job begins when a place is given back, not at the next poll.
func TestAPlaceUnderALimitIsTakenWithoutWaitingForAPoll(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	limit(t, st, store.ScopeQueue, "default", store.Limits{Concurrency: 1})
	cfg := config(t)
	cfg.Poll = time.Hour
	p := New(st, cfg)
	b := newBlocking()
	Handle(p, "hold", b.handle)
	for range 5 {
		enqueueKind(t, st, "hold")
	}
	run(t, p)
	for range 5 {
		receive(t, b.started)
		b.proceed <- nil
	}
}

func TestAResumeIsNoticedWithoutWaitingForAPoll(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	set(t, st, store.ScopeQueue, "default", func(p store.ControlParams) error {
		_, err := st.Pause(t.Context(), p, store.PauseEnd{})
		return err
	})
	cfg := config(t)
	cfg.Poll = time.Hour
	p := New(st, cfg)
	b := newBlocking()
	Handle(p, "hold", b.handle)
	id := enqueueKind(t, st, "hold")
	run(t, p)
	storetest.Await(t, "the pool asks", func() bool { return p.Stats().Claims > 0 })
	if job := jobNow(t, st, id); job.State != store.Available {
		t.Errorf("the job of a paused queue is %s", job.State)
	}
	set(t, st, store.ScopeQueue, "default", func(p store.ControlParams) error { _, err := st.Resume(t.Context(), p); return err })
	receive(t, b.started)
	b.proceed <- nil
}

type listed struct {
	Seen, Stopped   *time.Time
	How             *string
	Claimed, Host   string
	Queues, Program string
	Running         int
}

func list(t testing.TB, conn *pgx.Conn, id string) (l listed, found bool) {
	t.Helper()
	err := conn.QueryRow(context.Background(), `select seen_at, stopped_at, stopped_how, claimed::text, host, queues::text, program, running
		from fenceline.workers where id = $1`, id).Scan(&l.Seen, &l.Stopped, &l.How, &l.Claimed, &l.Host, &l.Queues, &l.Program, &l.Running)
	if err == pgx.ErrNoRows {
		return l, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return l, true
}

func TestAPoolIsOnTheListFromItsBeginningToItsEnd(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	conn := owner(t, url)
	cfg := config(t)
	cfg.Beat, cfg.Version = 20*time.Millisecond, "v1.2.3"
	p := New(st, cfg)
	b := newBlocking()
	Handle(p, "hold", b.handle)
	id := enqueueKind(t, st, "hold")
	r := run(t, p)
	receive(t, b.started)
	storetest.Await(t, "the list says what runs", func() bool { l, found := list(t, conn, p.ID()); return found && l.Running == 1 && l.Claimed == "1" })
	l, _ := list(t, conn, p.ID())
	if l.Queues != `{"default": 4}` || l.Host == "" || l.Program == "" || l.Stopped != nil {
		t.Errorf("%+v", l)
	}
	// A worker that was forgotten while it was silent writes itself down anew.
	do(t, conn, "delete from fenceline.workers")
	storetest.Await(t, "it is on the list again", func() bool { _, found := list(t, conn, p.ID()); return found })
	b.proceed <- nil
	awaitState(t, st, id, store.Completed)
	if err := r.halt(t); err != nil {
		t.Fatal(err)
	}
	l, _ = list(t, conn, p.ID())
	if l.Stopped == nil || l.How == nil || *l.How != store.StoppedClean || l.Running != 0 {
		t.Errorf("after its end: %+v", l)
	}
}

// Whoever is on the list costs one small write a beat, which touches no index.
func TestABeatIsOneWriteThatChangesNoIndex(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	conn := owner(t, url)
	cfg := config(t)
	cfg.Beat = 10 * time.Millisecond
	p := New(st, cfg)
	Handle(p, "hold", newBlocking().handle)
	r := run(t, p)
	const settled = `select n_tup_ins, n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'workers' and schemaname = 'fenceline'`
	var inserted, updated, hot int
	// Each connection of the pool adds what it did to the server's counts when it gets to it.
	storetest.Await(t, "the first write and fifty beats are counted", func() bool {
		if err := conn.QueryRow(t.Context(), settled).Scan(&inserted, &updated, &hot); err != nil {
			t.Fatal(err)
		}
		return inserted > 0 && updated >= 50
	})
	if err := r.halt(t); err != nil {
		t.Fatal(err)
	}
	if inserted != 1 || hot < updated*9/10 {
		t.Errorf("%d rows inserted, %d of %d updates changed no index", inserted, hot, updated)
	}
}

func TestADrainedPoolFinishesWhatItHoldsAndClaimsNoMore(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	conn := owner(t, url)
	cfg := config(t)
	cfg.Beat = 20 * time.Millisecond
	p := New(st, cfg)
	b := newBlocking()
	Handle(p, "hold", b.handle)
	first := enqueueKind(t, st, "hold")
	run(t, p)
	receive(t, b.started)
	storetest.Await(t, "it is on the list", func() bool { _, found := list(t, conn, p.ID()); return found })
	set(t, st, store.ScopeWorker, p.ID(), func(c store.ControlParams) error { _, err := st.Drain(t.Context(), c); return err })
	second := enqueueKind(t, st, "hold")
	asked := p.Stats().Claims
	b.proceed <- nil
	awaitState(t, st, first, store.Completed)
	storetest.Await(t, "the pool asks again", func() bool { return p.Stats().Claims > asked+2 })
	if job := jobNow(t, st, second); job.State != store.Available || job.Generation != 0 {
		t.Errorf("the second job is %s, claimed %d times", job.State, job.Generation)
	}
	set(t, st, store.ScopeWorker, p.ID(), func(c store.ControlParams) error { _, err := st.Resume(t.Context(), c); return err })
	receive(t, b.started)
	b.proceed <- nil
	awaitState(t, st, second, store.Completed)
}
