package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// aged makes jobs, with the beginning of their log, whose ids are not in the
// order of their times: up to an hour apart, over 31 hours before a moment. None
// lies within a minute of a whole hour before it, so that no job passes a bound
// of a search while the test looks.
func (f *fixture) aged(n int, before time.Time) {
	f.t.Helper()
	f.exec(`with made as (
		  insert into fenceline.jobs (kind, created_at, run_at, state)
		  select 'old', at, at, case when i % 3 = 0 then 'scheduled' else 'available' end::fenceline.job_state
		  from (select i, $2::timestamptz - floor((($1 - i) * 1800.0 / $1 + random() * 60) / 2) * interval '2 minutes' - interval '1 minute' as at from generate_series(1, $1::int) i) m
		  returning id, created_at, state)
		insert into fenceline.transitions (job_id, at, type, to_state, revision, attempts_used, max_attempts, kind, queue)
		select id, created_at, 'enqueued', state, 1, 0, 10, 'old', 'default' from made order by random()`, n, before)
}

// Whatever was read of the log already, and in whatever order, a search by the
// time of enqueueing finds what a look at every job finds.
func TestASearchByAgeFindsEveryJobThatALookAtEachOneFinds(t *testing.T) {
	f := open(t)
	start := value[time.Time](f, "select now()")
	f.aged(1200, start)
	if err := store.MigrateDown(f.ctx, f.url); err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(f.ctx, f.url); err != nil { // reads these from the jobs
		t.Fatal(err)
	}
	f.aged(1200, start)
	f.rollAll()
	holder := f.connect()
	tx, err := holder.Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(f.ctx)
	if _, err := tx.Exec(f.ctx, `with made as (insert into fenceline.jobs (kind, created_at) select 'late', $1::timestamptz - interval '20 hours 1 minute' from generate_series(1, 50) returning id, created_at)
		insert into fenceline.transitions (job_id, at, type, to_state, revision, attempts_used, max_attempts, kind, queue)
		select id, created_at, 'enqueued', 'available', 1, 0, 10, 'late', 'default' from made`, start); err != nil {
		t.Fatal(err)
	}
	f.aged(400, start)
	if r, err := f.Roll(f.ctx); err != nil || r.Counted > 0 {
		t.Fatalf("past a transaction that is not at its end: %+v %v", r, err)
	}
	check := func(when string) {
		t.Helper()
		narrowed := 0
		for _, c := range []struct{ text, sql string }{
			{"older:29h", "created_at < now() - interval '29 hours'"},
			{"newer:29h", "created_at >= now() - interval '29 hours'"},
			{"older:3h newer:5h", "created_at < now() - interval '3 hours' and created_at >= now() - interval '5 hours'"},
			{"older:20h state:scheduled", "created_at < now() - interval '20 hours' and state = 'scheduled'"},
			{"older:20h state:scheduled,running", "created_at < now() - interval '20 hours' and state = 'scheduled'"},
			{"older:40h", "false"},
			{"newer:1m", "created_at >= now() - interval '1 minute'"}, // none
			{"enqueued:-12h..-11h", "created_at between now() - interval '12 hours' and now() - interval '11 hours'"},
			{"enqueued:>-2h kind:old", "created_at > now() - interval '2 hours' and kind = 'old'"},
			{"enqueued:<=-25h", "created_at <= now() - interval '25 hours'"},
			{"-enqueued:<=-25h", "created_at > now() - interval '25 hours'"},
			{"enqueued:<-19h enqueued:>-21h kind:late", "created_at < now() - interval '19 hours' and created_at > now() - interval '21 hours' and kind = 'late'"},
			{"enqueued:" + start.UTC().Add(-25*time.Hour).Format("2006-01-02"),
				"date_trunc('day', created_at, 'UTC') = '" + start.UTC().Add(-25*time.Hour).Format("2006-01-02") + " 00:00Z'"},
		} {
			for _, order := range []store.Order{store.OrderNewest, store.OrderOldest} {
				filter := store.Filter{Query: parsed(c.text), Order: order, Limit: store.MaxPage, Effort: time.Minute}
				want := value[[]int64](f, "select coalesce(array_agg(id order by id), '{}') from fenceline.jobs where "+c.sql)
				if order == store.OrderNewest {
					slices.Reverse(want)
				}
				var got []int64
				for {
					p := f.page(filter)
					for _, j := range p.Jobs {
						got = append(got, j.ID)
					}
					if filter.After = p.Next; p.Next.ID == 0 {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, %s, %s: %d jobs found, %d are there", when, c.text, order, len(got), len(want))
				}
				if order == store.OrderOldest {
					continue // a count has no order
				}
				filter.After = store.Place{}
				count, err := f.Matching(f.ctx, filter)
				if err != nil || count.N > int64(len(want)) || !count.Capped && count.N != int64(len(want)) {
					t.Errorf("%s, %s: counted %+v %v, %d are there", when, c.text, count, err, len(want))
				}
				if !count.Capped && len(want) < 1500 {
					narrowed++
				}
			}
			if value[int64](f, "select count(*) from fenceline.jobs where "+c.sql) == 0 {
				continue // an operation on nothing is refused
			}
			if o := f.preview(store.ActionTerminate, c.text); o.Total != value[int64](f, "select count(*) from fenceline.jobs where "+c.sql) || o.Looked != 0 {
				t.Errorf("%s, %s: an operation takes %d, looked %d", when, c.text, o.Total, o.Looked)
			}
		}
		if narrowed < 8 {
			t.Errorf("%s: %d searches were counted to the end", when, narrowed)
		}
	}
	check("with some jobs not read and some not committed")
	if err := tx.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	check("with some jobs not read")
	f.rollAll()
	if n := value[int](f, "select count(*) from fenceline.enqueued_ids e where e.most_id >= (select min(id) from fenceline.jobs where kind = 'late')"); n < 20 {
		t.Errorf("%d ranges reach what was written last", n)
	}
	check("with all read")
	// The log of another cluster is read from its beginning.
	f.exec("update fenceline.enqueued_ids_position set xid = '9223372036854775807'; delete from fenceline.enqueued_ids")
	f.aged(100, start)
	if err := store.Migrate(f.ctx, f.url); err != nil {
		t.Fatal(err)
	}
	f.rollAll()
	check("with what the log tells alone")
}

// Among many jobs a search by the time of enqueueing reads those of the time, and
// a first few.
func TestASearchByAgeReadsTheJobsOfTheTime(t *testing.T) {
	f := open(t)
	f.exec(`insert into fenceline.jobs (kind, created_at, state, run_at)
		select 'old', at, 'scheduled', at from (select now() - (60000 - i) * interval '1 minute' as at from generate_series(1, 60000) i) m`)
	f.exec("insert into fenceline.enqueued_ids select date_trunc('minute', created_at, 'UTC'), min(id), max(id) from fenceline.jobs group by 1")
	name, most := "", map[string]float64{}
	s := f.planned(func(sql string, _ bool, p plan) {
		p.walk(func(node plan) {
			if node.Relation == "jobs" {
				most[name] = max(most[name], node.looked())
			}
		})
	})
	for _, statistics := range []string{"none", "fresh"} {
		f.forget(-1)
		if statistics == "fresh" {
			f.exec("analyze fenceline.jobs, fenceline.enqueued_ids")
		}
		for _, text := range []string{"older:999h", "older:999h state:scheduled", "older:999h state:scheduled,running", "newer:600h older:599h", "enqueued:-600h..-599h"} {
			for _, order := range []store.Order{store.OrderNewest, store.OrderOldest} {
				name = fmt.Sprint(text, order)
				p, err := s.Jobs(f.ctx, store.Filter{Query: parsed(text), Order: order})
				if err != nil || len(p.Jobs) != 50 || p.Bound != 0 {
					t.Errorf("%s: %d jobs, bound %d, %v", name, len(p.Jobs), p.Bound, err)
				}
				if most[name] > store.NarrowLook+200 {
					t.Errorf("%s, statistics %s: looks at %.0f jobs", name, statistics, most[name])
				}
			}
		}
	}
	if len(most) != 10 {
		t.Errorf("%d searches were looked at", len(most))
	}
}

func TestRangesOfMinutesWithoutJobsAreForgotten(t *testing.T) {
	f := open(t)
	f.aged(10, time.Now())
	f.rollAll()
	f.exec("insert into fenceline.enqueued_ids values (now() - interval '40 days', 1, 2), (now() - interval '39 days', 3, 4), (now() - interval '38 days', 9000, 9001)")
	f.exec("delete from fenceline.jobs where id <= 2")
	before := value[int](f, "select count(*) from fenceline.enqueued_ids")
	if more, err := f.ForgetRollups(f.ctx, 30*24*time.Hour); err != nil || more {
		t.Fatal(more, err)
	}
	if gone := before - value[int](f, "select count(*) from fenceline.enqueued_ids"); gone != 1 {
		t.Errorf("%d ranges were forgotten; jobs 4 and 9000 may be there still", gone)
	}
}
