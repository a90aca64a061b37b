package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

const (
	worker   = "tester-1"
	kind     = "report"
	patience = time.Minute
)

// feed is a store on a database of its own, with the owner's connection to
// look behind it.
type feed struct {
	*store.Store
	t     *testing.T
	ctx   context.Context
	url   string
	owner *pgx.Conn
}

func open(t *testing.T) *feed {
	t.Helper()
	s, url := storetest.NewWithURL(t)
	f := &feed{Store: s, t: t, ctx: t.Context(), url: url}
	f.owner = f.connect()
	return f
}

func (f *feed) connect() *pgx.Conn {
	f.t.Helper()
	conn, err := pgx.Connect(f.ctx, f.url)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func (f *feed) exec(sql string, args ...any) {
	f.t.Helper()
	if _, err := f.owner.Exec(f.ctx, sql, args...); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
}

func value[T any](f *feed, sql string, args ...any) T {
	f.t.Helper()
	var v T
	if err := f.owner.QueryRow(f.ctx, sql, args...).Scan(&v); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// hub runs a hub on src until the test ends or stop is called.
func (f *feed) hub(src events.Source, cfg events.Config) (hub *events.Hub, stop func()) {
	f.t.Helper()
	hub = events.NewHub(src, cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				f.t.Errorf("run: %v", err)
			}
		case <-time.After(patience):
			f.t.Error("the hub did not end")
		}
	}
	f.t.Cleanup(stop)
	return hub, stop
}

// live runs a hub with the defaults and waits until it hears.
func (f *feed) live(cfg events.Config) *events.Hub {
	f.t.Helper()
	hub, _ := f.hub(f.Store, cfg)
	f.eventually("the feed is live", func() bool { return hub.Status().Live })
	return hub
}

// awaitTick waits for a tick of the pulse.
func awaitTick(t *testing.T, p *events.Pulse) {
	t.Helper()
	select {
	case <-p.C:
	case <-time.After(patience):
		t.Fatal("no tick came")
	}
}

func (f *feed) eventually(what string, holds func() bool) {
	f.t.Helper()
	within(f.t, patience, what, holds)
}

func within(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	if !pollFor(limit, holds) {
		t.Fatalf("not within %v: %s", limit, what)
	}
}

// poll is for goroutines that may not end a test; it gives up in the end.
func poll(holds func() bool) bool { return pollFor(patience, holds) }

func pollFor(limit time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

func (f *feed) enqueue(n int) []int64 {
	f.t.Helper()
	requests := make([]store.Request, n)
	for i := range requests {
		requests[i] = store.Request{Kind: kind}
	}
	out, err := f.EnqueueMany(f.ctx, requests)
	if err != nil {
		f.t.Fatal(err)
	}
	ids := make([]int64, n)
	for i, e := range out {
		ids[i] = e.ID
	}
	return ids
}

func claim(ctx context.Context, s *store.Store, n int) ([]store.Lease, error) {
	p := store.ClaimParams{Worker: worker, Queue: store.DefaultQueue,
		Kinds: []store.KindLease{{Kind: kind, Lease: time.Minute}}}
	for range n {
		p.AttemptIDs = append(p.AttemptIDs, uuid.Must(uuid.NewV7()))
	}
	claimed, err := s.Claim(ctx, p)
	leases := make([]store.Lease, len(claimed))
	for i, c := range claimed {
		leases[i] = c.Lease
	}
	return leases, err
}

func renew(ctx context.Context, s *store.Store, leases []store.Lease) error {
	batch := make([]store.Renewal, len(leases))
	for i, l := range leases {
		batch[i] = store.Renewal{Lease: l, For: time.Minute}
	}
	return accepted(s.Renew(ctx, worker, batch))
}

func complete(ctx context.Context, s *store.Store, leases []store.Lease) error {
	batch := make([]store.Completion, len(leases))
	for i, l := range leases {
		batch[i] = store.Completion{Lease: l, Result: json.RawMessage(`{"rows": 1}`)}
	}
	return accepted(s.Complete(ctx, worker, batch))
}

func accepted(outcomes []store.Outcome, err error) error {
	for _, o := range outcomes {
		if o.Err != nil {
			return o.Err
		}
	}
	return err
}

// work claims, renews and completes n jobs in batches of size, on one session.
func work(ctx context.Context, s *store.Store, size, renewals int) error {
	for {
		leases, err := claim(ctx, s, size)
		if err != nil || len(leases) == 0 {
			return err
		}
		for range renewals {
			if err := renew(ctx, s, leases); err != nil {
				return err
			}
		}
		if err := complete(ctx, s, leases); err != nil {
			return err
		}
	}
}

// claimOne, renewOne and completeOne fail the test where the store refuses.
func (f *feed) claimOne() store.Lease {
	f.t.Helper()
	leases, err := claim(f.ctx, f.Store, 1)
	if err != nil || len(leases) != 1 {
		f.t.Fatalf("claimed %d jobs: %v", len(leases), err)
	}
	return leases[0]
}

func (f *feed) renewOne(l store.Lease) {
	f.t.Helper()
	if err := renew(f.ctx, f.Store, []store.Lease{l}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *feed) completeOne(l store.Lease) {
	f.t.Helper()
	if err := complete(f.ctx, f.Store, []store.Lease{l}); err != nil {
		f.t.Fatal(err)
	}
}

// stored is the truth: the ids of a job's transitions.
func (f *feed) stored(job int64) []int64 {
	f.t.Helper()
	ts, err := f.Transitions(f.ctx, job, 0, 100_000)
	if err != nil {
		f.t.Fatal(err)
	}
	ids := make([]int64, len(ts))
	for i, t := range ts {
		ids[i] = t.ID
	}
	return ids
}

func (f *feed) watch(hub *events.Hub, jobs []int64, from events.From) *reader {
	f.t.Helper()
	sub, err := hub.Watch(f.ctx, jobs, from)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(sub.Close)
	return newReader(sub)
}

// fromStart watches jobs from their first transition.
func fromStart(jobs ...int64) events.From {
	from := events.From{After: map[int64]int64{}}
	for _, j := range jobs {
		from.After[j] = 0
	}
	return from
}

// reader keeps what a subscription delivered and what it did wrong.
type reader struct {
	sub      *events.Subscription
	seen     map[int64][]int64 // job to ids
	types    []store.Type
	n        int
	position uint64
	faults   []string
}

func newReader(sub *events.Subscription) *reader {
	return &reader{sub: sub, seen: map[int64][]int64{}}
}

func (r *reader) take(d events.Delivery) {
	for _, t := range d.Transitions {
		if ids := r.seen[t.JobID]; len(ids) > 0 && t.ID <= ids[len(ids)-1] {
			r.faults = append(r.faults, fmt.Sprintf("job %d: %d came after %d", t.JobID, t.ID, ids[len(ids)-1]))
		}
		r.seen[t.JobID] = append(r.seen[t.JobID], t.ID)
		r.types = append(r.types, t.Type)
		r.n++
	}
	if d.Position < r.position {
		r.faults = append(r.faults, fmt.Sprintf("the position went from %d to %d", r.position, d.Position))
	}
	r.position = d.Position
}

// until receives until enough holds. Positions alone, which come with every
// ping, do not lengthen its patience.
func (r *reader) until(t *testing.T, what string, enough func() bool) {
	t.Helper()
	late := time.After(patience)
	for !enough() {
		select {
		case d, ok := <-r.sub.C:
			if !ok {
				t.Fatalf("the subscription ended (%v) before: %s", r.sub.Err(), what)
			}
			r.take(d)
			if len(d.Transitions) > 0 {
				late = time.After(patience)
			}
		case <-late:
			t.Fatalf("nothing new within %v, waiting for: %s; %d transitions came", patience, what, r.n)
		}
	}
	for _, fault := range r.faults {
		t.Error(fault)
	}
}

// untilStored receives until the job is shown exactly as it is stored.
func (r *reader) untilStored(f *feed, jobs ...int64) {
	f.t.Helper()
	for _, job := range jobs {
		want := f.stored(job)
		r.until(f.t, fmt.Sprintf("job %d with %d transitions", job, len(want)),
			func() bool { return len(r.seen[job]) >= len(want) })
		if !slices.Equal(r.seen[job], want) {
			f.t.Errorf("job %d shows %v, stored is %v", job, r.seen[job], want)
		}
	}
}
