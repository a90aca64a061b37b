package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// works writes a worker down as alive.
func (f *fixture) works(id string, queues map[string]int, kinds ...string) {
	f.t.Helper()
	w := store.WorkerStart{ID: id, Host: "host-a", PID: 41, Program: "billing", Version: "v1", Queues: queues, Beat: 10 * time.Second}
	for _, k := range kinds {
		w.Kinds = append(w.Kinds, store.KindLease{Kind: k, Lease: lease})
	}
	if err := f.RegisterWorker(f.ctx, w); err != nil {
		f.t.Fatal(err)
	}
}

// silent moves the row: the worker told of itself so long ago.
func (f *fixture) silent(id string, ago time.Duration) {
	f.t.Helper()
	f.exec("update fenceline.workers set seen_at = clock_timestamp() - $2::interval, started_at = clock_timestamp() - $2::interval - interval '1 minute' where id = $1", id, ago)
}

func (f *fixture) queuesPage() store.Queues {
	f.t.Helper()
	p, err := f.Queues(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

func queueNamed(p store.Queues, name string) (q store.Queue) {
	for _, q = range p.Queues {
		if q.Name == name {
			return q
		}
	}
	return store.Queue{}
}

func kindNamed(p store.Queues, name string) (k store.Kind) {
	for _, k = range p.Kinds {
		if k.Name == name {
			return k
		}
	}
	return store.Kind{}
}

func TestThePageOfQueuesTellsBacklogAgeThroughputAndTimeToStart(t *testing.T) {
	f := open(t)
	f.many(5, store.Request{Queue: "mail", Kind: "mail"})
	f.many(3, store.Request{})
	f.many(2, store.Request{Queue: "night", RunAt: time.Now().Add(time.Hour)})
	// One that waits for a minute, behind a more urgent one that has just come.
	f.exec("update fenceline.jobs set run_at = run_at - interval '1 minute', priority = 5 where id = (select max(id) from fenceline.jobs where queue = 'mail')")
	f.works("a", map[string]int{"default": 4, "mail": 2}, "report", "mail")
	f.works("b", map[string]int{"default": 6}, "report")
	f.works("gone", map[string]int{"mail": 100}, "mail")
	f.silent("gone", time.Minute)
	// Claimed two seconds after it was due.
	f.exec("update fenceline.jobs set run_at = run_at - interval '2 seconds' where queue = 'default'")
	for _, c := range f.claimAs("a", 2)[:1] {
		f.complete("a", c.Lease, `1`)
	}
	p := f.queuesPage()
	if q := queueNamed(p, "mail"); q.Waiting.N != 5 || q.Running != 0 || p.Now.Sub(q.Oldest) < time.Minute || p.Now.Sub(q.Oldest) > 10*time.Minute || q.Workers != 1 || q.Slots != 2 {
		t.Errorf("mail: %+v", q)
	}
	q := queueNamed(p, "default")
	if q.Waiting.N != 1 || q.Running != 1 || q.Workers != 2 || q.Slots != 10 {
		t.Errorf("default: %+v", q)
	}
	if r := q.Recent; r.Claimed != 2 || r.Completed != 1 || r.Starts != 2 || r.Start95 < 2*time.Second || r.Start50 > r.Start95 || len(r.Series) != store.RecentSteps || sum(r.Series) != 1 {
		t.Errorf("default of late: %+v", r)
	}
	if q := queueNamed(p, "night"); q.Waiting.N != 0 || q.Later != 2 || !q.Oldest.IsZero() {
		t.Errorf("night: %+v", q)
	}
	if k := kindNamed(p, "report"); k.Running != 1 || k.Workers != 2 || k.Waiting != 1 || k.Recent.Completed != 1 {
		t.Errorf("report: %+v", k)
	}
	if p.Workers != 2 || p.Cut || p.More || p.Now.Sub(p.Since) < store.RecentWindow-time.Second || len(p.Unhandled) != 0 {
		t.Errorf("%+v", p)
	}
	f.pause(store.ScopeAll, "")
	f.pause(store.ScopeKind, "nothing of it yet")
	f.limit(store.ScopeQueue, "quiet", store.Limits{Concurrency: 2})
	p = f.queuesPage()
	if !p.All.PausedAt(p.Now) || !kindNamed(p, "nothing of it yet").Control.PausedAt(p.Now) || queueNamed(p, "quiet").Control.Limits.Concurrency != 2 {
		t.Errorf("%+v", p)
	}
}

func sum(all []int64) (n int64) {
	for _, one := range all {
		n += one
	}
	return n
}

func TestWorkThatNoLiveWorkerTakesIsNamed(t *testing.T) {
	f := open(t)
	f.many(2, store.Request{Kind: "report"})
	f.many(1, store.Request{Kind: "mail"})
	f.many(1, store.Request{Kind: "mail", Queue: "slow"})
	look := func() string {
		t.Helper()
		all, err := f.Unhandled(f.ctx)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, u := range all {
			out = append(out, fmt.Sprintf("%s/%s %d %v %v", u.Queue, u.Kind, u.Jobs, u.NoQueue, u.Draining))
		}
		if page := f.queuesPage(); len(page.Unhandled) != len(all) {
			t.Errorf("the page names %d, want %d", len(page.Unhandled), len(all))
		}
		return strings.Join(out, "; ")
	}
	want := func(want string) {
		t.Helper()
		if got := look(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	want("default/report 2 true false; default/mail 1 true false; slow/mail 1 true false")
	f.works("a", map[string]int{"default": 1}, "report")
	f.works("b", map[string]int{"slow": 1}, "report", "mail")
	want("default/mail 1 false false")
	f.works("c", map[string]int{"default": 1}, "mail")
	want("")
	if _, err := f.Drain(f.ctx, f.change(store.ScopeWorker, "c")); err != nil {
		t.Fatal(err)
	}
	want("default/mail 1 false true")
	f.silent("a", time.Minute)
	want("default/report 2 false false; default/mail 1 false true")

	p, err := f.Prospects(f.ctx, "default", "mail")
	if err != nil || !p.Nobody || p.NoQueue || !p.Draining || len(p.Paused) != 0 {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := f.Prospects(f.ctx, "slow", "mail"); err != nil || p.Nobody {
		t.Errorf("%+v %v", p, err)
	}
	f.pause(store.ScopeKind, "mail")
	f.limit(store.ScopeQueue, "slow", store.Limits{Concurrency: 1})
	if p, err := f.Prospects(f.ctx, "slow", "mail"); err != nil || p.Nobody || len(p.Paused) != 1 || len(p.Limited) != 1 {
		t.Errorf("%+v %v", p, err)
	}
}

func TestThePageOfOneQueueShowsItAlone(t *testing.T) {
	f := open(t)
	f.many(30, store.Request{Queue: "mail", Kind: "mail"})
	f.many(2, store.Request{})
	f.works("a", map[string]int{"mail": 2, "default": 1}, "mail", "letter")
	f.works("b", map[string]int{"default": 1}, "report")
	f.take(2, "mail", "mail")
	f.pause(store.ScopeQueue, "mail")
	v, err := f.Queue(f.ctx, "mail")
	if err != nil {
		t.Fatal(err)
	}
	if !v.Known || v.Queue.Name != "mail" || v.Queue.Waiting.N != 28 || v.Queue.Running != 2 || len(v.Holding) != 2 || len(v.Next) != 20 || len(v.Workers) != 1 {
		t.Errorf("%+v", v)
	}
	var kinds []string
	for _, k := range v.Kinds {
		kinds = append(kinds, k.Name)
	}
	if strings.Join(kinds, " ") != "letter mail" {
		t.Errorf("kinds %v", kinds)
	}
	if len(v.Changes) != 1 || v.Changes[0].Action != store.ActionPause || v.Changes[0].Actor != "oncall" || v.Changes[0].Outcome != "done" {
		t.Errorf("%+v", v.Changes)
	}
	if v, err := f.Queue(f.ctx, "nothing here"); err != nil || v.Known || v.Queue.Name != "nothing here" {
		t.Errorf("%+v %v", v, err)
	}
	var invalid *store.InvalidError
	for _, name := range []string{"", strings.Repeat("x", 1025), "a\x00b", "\xff"} {
		if _, err := f.Queue(f.ctx, name); !errors.As(err, &invalid) || invalid.Field != "queue" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestTheListOfWorkersTellsWhoLivesAndWhatTheyHold(t *testing.T) {
	f := open(t)
	f.many(6, store.Request{})
	for _, id := range []string{"lives", "lost", "drains", "drained", "ended"} {
		f.works(id, map[string]int{"default": 3}, "report")
	}
	f.claimAs("lives", 1)
	lost := f.claimAs("lost", 2)
	f.claimAs("drains", 1)
	f.claimAs("strange", 1)
	for _, id := range []string{"drains", "drained"} {
		if _, err := f.Drain(f.ctx, f.change(store.ScopeWorker, id)); err != nil {
			t.Fatal(err)
		}
	}
	f.silent("lost", time.Minute)
	if err := f.EndWorker(f.ctx, "ended", store.WorkerCounts{Completed: 7}, store.StoppedLeft); err != nil {
		t.Fatal(err)
	}
	list, err := f.Workers(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range list.Workers {
		got = append(got, fmt.Sprintf("%s %s %d", w.ID, w.Status, w.Held))
	}
	if want := "drained drained 0; drains draining 1; lives live 1; lost lost 2; ended stopped 0"; strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
	if len(list.Strange) != 1 || list.Strange[0] != (store.Holder{ID: "strange", Held: 1}) {
		t.Errorf("%+v", list.Strange)
	}
	ended := list.Workers[4]
	if ended.StoppedHow != store.StoppedLeft || ended.Counts.Completed != 7 || ended.Version != "v1" || ended.Host != "host-a" || ended.Kinds["report"] != lease || ended.Slots() != 3 {
		t.Errorf("%+v", ended)
	}

	// A database that is stopped in order says so of those that live, and of no others;
	// they are not lost afterwards, and there again with a sign of life.
	if err := f.CutOffWorkers(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.exec("update fenceline.workers set seen_at = seen_at - interval '1 minute'")
	status := func() (out string) {
		list, err := f.Workers(f.ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range list.Workers {
			out += fmt.Sprintf("%s %s %s; ", w.ID, w.Status, w.StoppedHow)
		}
		return out
	}
	if got := status(); !strings.Contains(got, "lives stopped cut off; ") || !strings.Contains(got, "drained stopped cut off; ") || !strings.Contains(got, "lost lost ; ") || !strings.Contains(got, "ended stopped unfinished; ") {
		t.Errorf("once the database was stopped: %s", got)
	}
	if facts, err := f.Facts(f.ctx); err != nil || len(facts.Silent) != 1 || facts.Silent[0].ID != "lost" {
		t.Errorf("once the database was stopped the silent ones are %+v, %v", facts.Silent, err)
	}
	if _, err := f.Beat(f.ctx, "lives", store.WorkerCounts{}); err != nil {
		t.Fatal(err)
	}
	if got := status(); !strings.Contains(got, "lives stopped cut off; ") {
		t.Errorf("after a sign of life that came while it stopped: %s", got)
	}
	f.exec("update fenceline.workers set stopped_at = stopped_at - interval '6 seconds' where stopped_how = 'cut off'")
	for _, id := range []string{"lives", "drains"} {
		if _, err := f.Beat(f.ctx, id, store.WorkerCounts{}); err != nil {
			t.Fatal(err)
		}
	}
	f.works("drained", map[string]int{"default": 3}, "report")
	if _, err := f.Beat(f.ctx, "ended", store.WorkerCounts{}); err != nil {
		t.Fatal(err)
	}
	if got := status(); !strings.Contains(got, "lives live ; ") || !strings.Contains(got, "drains draining ; ") || !strings.Contains(got, "drained drained ; ") || !strings.Contains(got, "ended stopped unfinished; ") {
		t.Errorf("after their signs of life: %s", got)
	}

	// One that was killed says nothing; whoever starts it again says so of those that
	// lived then.
	f.exec(`update fenceline.watch_turn set at = pg_postmaster_start_time() - interval '1 hour'`)
	f.exec(`update fenceline.workers w set seen_at = pg_postmaster_start_time() - interval '1 hour' - case w.id when 'lost' then 4 else 1 end * w.beat where w.id <> 'drains'`)
	if err := f.CutOffBefore(f.ctx); err != nil {
		t.Fatal(err)
	}
	if got := status(); !strings.Contains(got, "drains draining ; ") || !strings.Contains(got, "lives stopped cut off; ") || !strings.Contains(got, "drained stopped cut off; ") || !strings.Contains(got, "lost lost ; ") || !strings.Contains(got, "ended stopped unfinished; ") {
		t.Errorf("once the database was killed and started again: %s", got)
	}
	if facts, err := f.Facts(f.ctx); err != nil || len(facts.Silent) != 1 || facts.Silent[0].ID != "lost" {
		t.Errorf("then the silent ones are %+v, %v", facts.Silent, err)
	}
	if _, err := f.Beat(f.ctx, "lives", store.WorkerCounts{}); err != nil {
		t.Fatal(err)
	}
	if got := status(); !strings.Contains(got, "lives live ; ") || !strings.Contains(got, "drained stopped cut off; ") {
		t.Errorf("after a sign of life: %s", got)
	}

	v, err := f.Worker(f.ctx, "lost")
	if err != nil || !v.Known || v.Worker.Status != store.WorkerLost || len(v.Holding) != 2 || v.Worker.Held != 2 || len(v.Recent) != 2 {
		t.Fatalf("%+v %v", v, err)
	}
	f.lapse(lost[0].Lease.JobID)
	f.expire()
	f.complete("lost", lost[0].Lease, `1`)
	v, err = f.Worker(f.ctx, "lost")
	if err != nil || len(v.Holding) != 1 || len(v.Lost) != 2 || v.Lost[0].Type != store.TypeRejected || v.Lost[1].Type != store.TypeExpired {
		t.Errorf("%+v %v", v, err)
	}
	if v, err := f.Worker(f.ctx, "strange"); err != nil || v.Known || len(v.Holding) != 1 {
		t.Errorf("%+v %v", v, err)
	}
	if _, err := f.Worker(f.ctx, "nobody"); !errors.Is(err, store.ErrNoWorker) {
		t.Errorf("%v", err)
	}
	// It speaks again.
	if _, err := f.Beat(f.ctx, "lost", store.WorkerCounts{}); err != nil {
		t.Fatal(err)
	}
	if v, err := f.Worker(f.ctx, "lost"); err != nil || v.Worker.Status != store.WorkerLive {
		t.Errorf("%+v %v", v, err)
	}
}

func TestWorkersThatEndedLongAgoAreForgottenWithWhatWasSetForThem(t *testing.T) {
	f := open(t)
	for _, id := range []string{"lives", "lost", "ended"} {
		f.works(id, map[string]int{"default": 1}, "report")
		if _, err := f.Drain(f.ctx, f.change(store.ScopeWorker, id)); err != nil {
			t.Fatal(err)
		}
	}
	f.pause(store.ScopeQueue, "lost")
	f.silent("lost", store.KeepWorkers+time.Minute)
	if err := f.EndWorker(f.ctx, "ended", store.WorkerCounts{}, store.StoppedClean); err != nil {
		t.Fatal(err)
	}
	if n, err := f.ForgetWorkers(f.ctx, 10); n != 1 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	left := value[[]string](f, "select array_agg(id order by id) from fenceline.workers")
	set := value[[]string](f, "select array_agg(key order by key) from fenceline.controls")
	if strings.Join(left, " ") != "ended lives" || strings.Join(set, " ") != "queue:lost worker:ended worker:lives" {
		t.Errorf("left %v, set for %v", left, set)
	}
	// The role of a running Fenceline forgets nothing else, and nothing sooner.
	conn := f.runtime()
	for _, refused := range []string{"delete from fenceline.workers", "delete from fenceline.controls", "truncate fenceline.workers"} {
		if _, err := conn.Exec(f.ctx, refused); code(err) != "42501" {
			t.Errorf("%s: %v", refused, err)
		}
	}
	var n int
	if err := conn.QueryRow(f.ctx, "select fenceline.forget_workers(interval '0', 10)").Scan(&n); err != nil || n != 0 {
		t.Errorf("forgot %d, %v", n, err)
	}
}
