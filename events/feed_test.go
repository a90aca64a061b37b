package events_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
)

func TestAWatcherSeesItsJobAndNoOther(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	mine := f.enqueue(1)[0]
	r := f.watch(hub, []int64{mine}, fromStart(mine))
	l := f.claimOne()
	others := f.enqueue(3)
	f.renewOne(l)
	other := f.claimOne()
	f.completeOne(other)
	f.completeOne(l)
	r.untilStored(f, mine)
	want := []store.Type{store.TypeEnqueued, store.TypeClaimed, store.TypeRenewed, store.TypeCompleted}
	if !slices.Equal(r.types, want) {
		t.Errorf("saw %v, want %v", r.types, want)
	}
	for _, o := range others {
		if len(r.seen[o]) > 0 {
			t.Errorf("job %d was delivered to a watcher of job %d", o, mine)
		}
	}
}

func TestARefusedWriteArrivesLive(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	job := f.enqueue(1)[0]
	r := f.watch(hub, []int64{job}, events.From{})
	l := f.claimOne()
	f.completeOne(l)
	if _, err := f.Renew(f.ctx, worker, []store.Renewal{{Lease: l, For: time.Minute}}); err != nil {
		t.Fatal(err)
	}
	r.until(t, "the rejection", func() bool { return slices.Contains(r.types, store.TypeRejected) })
}

// The page was rendered from a snapshot; a transition commits before its
// stream opens.
func TestACommitBetweenSnapshotAndWatchIsShownOnce(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	job := f.enqueue(1)[0]
	l := f.claimOne()
	view, err := f.JobView(f.ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	last := view.Transitions[len(view.Transitions)-1].ID
	f.renewOne(l)
	byID := f.watch(hub, []int64{job}, events.From{After: map[int64]int64{job: last}})
	byPosition := f.watch(hub, []int64{job}, events.From{Position: view.Horizon})
	f.completeOne(l)
	for name, r := range map[string]*reader{"by id": byID, "by position": byPosition} {
		r.until(t, name, func() bool { return slices.Contains(r.types, store.TypeCompleted) })
		// By position what the snapshot showed may come again; by id it may not.
		missed := slices.DeleteFunc(slices.Clone(r.seen[job]), func(id int64) bool { return id <= last })
		if want := f.stored(job)[len(view.Transitions):]; !slices.Equal(missed, want) {
			t.Errorf("%s: %v came, want %v", name, missed, want)
		}
	}
	if want := []store.Type{store.TypeRenewed, store.TypeCompleted}; !slices.Equal(byID.types, want) {
		t.Errorf("by id: %v came, want %v", byID.types, want)
	}
}

func TestAWatchThatBeginsNowMissesNothingAfterIt(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	job := f.enqueue(1)[0]
	l := f.claimOne()
	for n := range 20 {
		var from events.From // now
		if n%2 == 1 {
			horizon, err := f.Horizon(f.ctx)
			if err != nil {
				t.Fatal(err)
			}
			from.Position = horizon // by position, with nothing missed
		}
		before := f.stored(job)
		r := f.watch(hub, []int64{job}, from)
		f.renewOne(l)
		want := f.stored(job)[len(before):]
		r.until(t, "the renewal", func() bool { return slices.Contains(r.seen[job], want[0]) })
		r.sub.Close()
		if err := r.sub.Err(); err != nil {
			t.Fatalf("after its own Close: %v", err)
		}
	}
}

func TestAResumeByPositionAfterARestartMissesNothing(t *testing.T) {
	t.Parallel()
	f := open(t)
	jobs := f.enqueue(2)
	first, stop := f.hub(f.Store, events.Config{PingEvery: 50 * time.Millisecond})
	r := f.watch(first, jobs, fromStart(jobs...))
	a := f.claimOne()
	b := f.claimOne()
	f.renewOne(a)
	r.untilStored(f, jobs...)
	begun := r.position
	r.until(t, "the position moves without news", func() bool { return r.position > begun })
	stop()
	if _, ok := <-r.sub.C; ok {
		for range r.sub.C {
		}
	}
	if !errors.Is(r.sub.Err(), events.ErrClosed) {
		t.Errorf("a hub that ends leaves %v", r.sub.Err())
	}
	f.renewOne(a)
	f.completeOne(b)
	second := f.live(events.Config{})
	again := f.watch(second, jobs, events.From{Position: r.position})
	f.completeOne(a)
	for _, job := range jobs {
		want := f.stored(job)
		again.until(t, "the last transition", func() bool {
			return slices.Contains(again.seen[job], want[len(want)-1])
		})
		all := slices.Concat(r.seen[job], again.seen[job])
		slices.Sort(all)
		if got := slices.Compact(all); !slices.Equal(got, want) {
			t.Errorf("job %d: both streams show %v, stored is %v", job, got, want)
		}
	}
}

func TestATransitionThatNobodyNotifiedComesBeforeTheOnesThatFollow(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	job := f.enqueue(1)[0] + 1
	f.completeOne(f.claimOne())
	r := f.watch(hub, []int64{job}, fromStart(job))
	if id := value[int64](f, `select id from fenceline.enqueue($1, notify => false)`, kind); id != job {
		t.Fatalf("the silent job is %d, not %d", id, job)
	}
	f.claimOne()
	r.untilStored(f, job)
}

func TestSilenceIsCoveredByASlowReading(t *testing.T) {
	t.Parallel()
	f := open(t)
	src := &countedReads{Store: f.Store}
	hub, _ := f.hub(src, events.Config{Reread: 100 * time.Millisecond, Poll: 50 * time.Millisecond})
	f.eventually("the feed is live", func() bool { return hub.Status().Live })
	job := f.enqueue(1)[0] + 1
	byID := f.watch(hub, []int64{job}, fromStart(job))
	now := f.watch(hub, []int64{job}, events.From{})
	f.exec(`select pg_current_xact_id()`) // so that the horizon moves on
	begun := src.reads.Load()
	f.eventually("the steady reading has begun", func() bool { return src.reads.Load() >= begun+6 })
	value[int64](f, `select id from fenceline.enqueue($1, notify => false)`, kind)
	byID.untilStored(f, job)
	now.untilStored(f, job)
}

func TestAnAbsurdStartAsksForAFreshSnapshot(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{MaxReplay: 5, MaxGap: 50, MaxJobs: 3})
	jobs := f.enqueue(2)
	l := f.claimOne()
	horizon, err := f.Horizon(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		f.renewOne(l)
	}
	job, other := jobs[0], jobs[1]
	last := f.stored(job)[len(f.stored(job))-1]
	after := func(id int64) events.From { return events.From{After: map[int64]int64{job: id}} }
	for name, c := range map[string]struct {
		jobs  []int64
		from  events.From
		field string // of an InvalidError; else ErrTooFar
	}{
		"a position in the future":      {jobs: jobs, from: events.From{Position: horizon + 1_000_000}},
		"the greatest position":         {jobs: jobs, from: events.From{Position: math.MaxUint64}},
		"a position too old":            {jobs: jobs, from: events.From{Position: 1}},
		"too much to replay by place":   {jobs: jobs, from: events.From{Position: horizon}},
		"too much to replay by id":      {jobs: jobs, from: after(0)},
		"an id in the future":           {jobs: jobs, from: after(last + 1_000_000)},
		"the greatest id":               {jobs: jobs, from: after(math.MaxInt64)},
		"an id of another job":          {jobs: jobs, from: after(f.stored(other)[0])},
		"a negative id":                 {jobs: jobs, from: after(-1), field: "after"},
		"no job":                        {field: "jobs"},
		"a job that cannot be":          {jobs: []int64{0}, field: "jobs"},
		"a negative job among good":     {jobs: []int64{job, -5}, field: "jobs"},
		"more jobs than one may follow": {jobs: []int64{1, 2, 3, 4}, field: "jobs"},
	} {
		_, err := hub.Watch(f.ctx, c.jobs, c.from)
		var invalid *store.InvalidError
		switch {
		case c.field == "" && !errors.Is(err, events.ErrTooFar):
			t.Errorf("%s: %v, want ErrTooFar", name, err)
		case c.field != "" && (!errors.As(err, &invalid) || invalid.Field != c.field):
			t.Errorf("%s: %v, want an error that names %s", name, err, c.field)
		}
	}
	if s := hub.Status(); s.Subscriptions != 0 || s.Watchers != 0 {
		t.Errorf("refused subscriptions are still counted: %+v", s)
	}
	r := f.watch(hub, jobs, after(last))
	f.completeOne(l)
	r.until(t, "what follows a good id", func() bool { return slices.Contains(r.types, store.TypeCompleted) })
}
