package store_test

import (
	"slices"
	"strings"
	"testing"
)

// A step of the retention looks at a bounded part of a large table, whatever the
// statistics say, and scans none from end to end.
func TestAStepOfTheRetentionLooksAtABoundedNumberOfJobs(t *testing.T) {
	f := open(t)
	f.past(31) // makes the days
	f.exec(`insert into fenceline.jobs (kind, state, revision, attempts_used, created_at, run_at, finished_at)
		select 'report', 'terminated', 2, 0, now() - interval '31 days', now() - interval '31 days', now() - interval '31 days' from generate_series(1, 12000)`)
	f.exec(`insert into fenceline.transitions (job_id, at, type, to_state, revision, attempts_used, max_attempts, kind, queue, run_at)
		select id, created_at, 'enqueued', 'available', 1, 0, 10, kind, queue, run_at from fenceline.jobs`)
	f.exec(`insert into fenceline.transitions (job_id, at, type, from_state, to_state, revision, attempts_used, max_attempts, kind, queue)
		select id, created_at, 'terminated', 'available', 'terminated', 2, 0, 10, kind, queue from fenceline.jobs`)
	begun := map[string]int{}
	statistics := ""
	s := f.planned(func(sql string, generic bool, p plan) {
		begun[strings.Fields(sql)[0]+" "+strings.Fields(sql)[1]]++
		p.walk(func(node plan) {
			if node.NodeType == "Seq Scan" && node.Relation != "" && node.Relation != "retention" { // of one row
				t.Errorf("statistics %s, generic %v: scans all of %s\n%s\n%s", statistics, generic, node.Relation, sql, p.tree("  "))
			}
			if node.looked() > 3000 {
				t.Errorf("statistics %s, generic %v: %s %s%s looks at %.0f rows\n%s\n%s", statistics, generic, node.NodeType, node.Relation, node.Index, node.looked(), sql, p.tree("  "))
			}
		})
	})
	for _, statistics = range []string{"of tables never analyzed", "of empty tables", "fresh"} {
		switch statistics {
		case "of tables never analyzed":
			f.forget(-1)
		case "of empty tables":
			f.forget(0)
		case "fresh":
			f.exec("analyze fenceline.jobs, fenceline.transitions")
		}
		f.exec("update fenceline.retention set jobs_next = null")
		for range 3 {
			if n, more, err := s.RemoveJobs(f.ctx, keep); n != 1000 || !more || err != nil {
				t.Fatal(n, more, err)
			}
		}
		if statistics == "of tables never analyzed" {
			f.shortenUntil("baselines are being written", keep, "select coalesce(log_after > 0, false) from fenceline.retention")
		}
		for range 3 {
			if _, err := s.ShortenLog(f.ctx, keep); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, want := range []string{"select removed,", "with looked", "insert into"} {
		if !slices.Contains(keys(begun), want) {
			t.Errorf("no statement begins with %q: %v", want, begun)
		}
	}
}

func keys(m map[string]int) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}
