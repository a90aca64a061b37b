package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// partitions lists the days that have one, oldest first.
func (f *fixture) partitions() []string {
	f.t.Helper()
	return value[[]string](f, `select coalesce(array_agg(c.relname::text order by c.relname), '{}') from pg_class c join pg_inherits i on i.inhrelid = c.oid
		where i.inhparent = 'fenceline.transitions'::regclass and c.relname <> 'transitions_rest'`)
}

func TestATransitionLandsInItsDayAndTheRestCatchesWhatHasNone(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	at := func(when string) string {
		return value[string](f, `insert into fenceline.transitions (job_id, type, kind, queue, at) values ($1, 'baseline', 'report', 'default', `+when+`)
			returning tableoid::regclass::text`, id)
	}
	f.exec("set search_path = public")
	today := "date_trunc('day', now() at time zone 'utc') at time zone 'utc'"
	name := func(day int) string {
		return "fenceline.transitions_" + value[string](f, "select to_char((now() at time zone 'utc')::date + $1::int, 'YYYYMMDD')", day)
	}
	for when, want := range map[string]string{
		"now()": name(0),
		today:   name(0),
		today + " + interval '24 hours' - interval '1 microsecond'": name(0),
		today + " + interval '24 hours'":                            name(1),
		today + " + interval '168 hours'":                           name(7),
		today + " + interval '192 hours'":                           "fenceline.transitions_rest",
		today + " - interval '1 microsecond'":                       "fenceline.transitions_rest",
		"'1970-01-01'":                                              "fenceline.transitions_rest",
	} {
		if got := at(when); got != want {
			t.Errorf("a transition at %s lies in %s, want %s", when, got, want)
		}
	}
	if ts, _ := f.history(id); len(ts) != 9 {
		t.Errorf("%d transitions are read from all of them", len(ts))
	}
}

func TestAnyNumberMayMakeThePartitionsAtOnce(t *testing.T) {
	f := open(t)
	want := f.partitions()
	if len(want) != 8 {
		t.Fatalf("the migration made %v", want)
	}
	if n, err := f.EnsurePartitions(f.ctx); err != nil || n != 0 {
		t.Errorf("nothing is missing, made %d, %v", n, err)
	}
	for _, day := range want[2:] {
		f.exec("drop table fenceline." + day)
	}
	made := make([]int, 6)
	var wait sync.WaitGroup
	for k := range made {
		wait.Go(func() {
			var err error
			if made[k], err = f.EnsurePartitions(f.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	total := 0
	for _, n := range made {
		total += n
	}
	if got := f.partitions(); total != 6 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("made %v: %v", made, got)
	}
	f.wholeLife()
}

func TestADayThatLiesInTheRestStaysThereAndTheOthersAreMade(t *testing.T) {
	f := open(t)
	days := f.partitions()
	for _, day := range days {
		f.exec("drop table fenceline." + day)
	}
	id := f.enqueue(store.Request{}) // today's, in the rest
	if n, err := f.EnsurePartitions(f.ctx); err != nil || n != 7 {
		t.Errorf("made %d, %v", n, err)
	}
	if n, err := f.EnsurePartitions(f.ctx); err != nil || n != 0 {
		t.Errorf("once more: made %d, %v", n, err)
	}
	if f.complete("a", f.claim("a"), `1`).Err != nil {
		t.Error("no completion without a partition of today")
	}
	if ts, h := f.history(id); len(ts) != 3 || h.State != store.Completed {
		t.Errorf("%+v", ts)
	}
	f.consistent()
}

func TestALongReadingOfTheLogHoldsUpNeitherVerbsNorThePartitionsMaker(t *testing.T) {
	f := open(t)
	patient := storetest.Open(t, store.Config{URL: f.url, LockTimeout: time.Minute})
	f.enqueueMany([]store.Request{{Kind: "report"}, {Kind: "report"}})
	days := f.partitions()
	f.exec("drop table fenceline." + days[7])

	reading, err := f.connect().BeginTx(f.ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reading.Exec(f.ctx, "select count(*) from fenceline.transitions"); err != nil {
		t.Fatal(err)
	}
	made := make(chan error)
	go func() {
		n, err := patient.EnsurePartitions(f.ctx)
		if err == nil && n != 0 {
			err = fmt.Errorf("made %d partitions while the log was read", n)
		}
		made <- err
	}()
	l := f.claim("a")
	f.complete("a", store.Lease{JobID: l.JobID, AttemptID: attempts(1)[0], Generation: 0}, `1`) // looks into the log
	if out := f.complete("a", l, `1`); out.Err != nil {
		t.Error(out.Err)
	}
	if err := <-made; err != nil {
		t.Error(err)
	}
	if err := reading.Rollback(f.ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := patient.EnsurePartitions(f.ctx); err != nil || n != 1 {
		t.Errorf("after the reading: made %d, %v", n, err)
	}
}
