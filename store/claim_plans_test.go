package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Where all the jobs are of one kind and wait, a claim goes through the index
// in its order and reads what it takes, whatever the statistics say.
func TestAClaimReadsWhatItTakesOfManyThatWait(t *testing.T) {
	f := open(t)
	f.exec(`alter table fenceline.jobs set (autovacuum_enabled = off)`)
	f.exec(`insert into fenceline.jobs (kind) select 'report' from generate_series(1, 20000)`)
	statistics, n, seen := "", 0, 0
	s := f.planned(func(sql string, generic bool, p plan) {
		seen++
		p.walk(func(node plan) {
			if node.looked() > float64(n)+20 {
				t.Errorf("a claim of %d, statistics %s, generic %v: %s %s%s looks at %.0f rows\n%s",
					n, statistics, generic, node.NodeType, node.Relation, node.Index, node.looked(), p.tree("  "))
			}
		})
	})
	for _, statistics = range []string{"of tables never analyzed", "of empty tables", "of nothing but finished jobs", "fresh"} {
		switch statistics {
		case "of tables never analyzed":
			f.forget(-1)
		case "of empty tables":
			f.forget(0)
		case "of nothing but finished jobs":
			f.remember("state = 'completed'", 300)
		case "fresh":
			f.exec("analyze fenceline.jobs")
		}
		for _, n = range []int{1, 10, 200} {
			for _, kinds := range [][]string{{"report"}, {"mail", "report"}} {
				leases := make([]store.KindLease, len(kinds))
				for i, kind := range kinds {
					leases[i] = store.KindLease{Kind: kind, Lease: time.Minute}
				}
				claimed, err := s.Claim(f.ctx, store.ClaimParams{Worker: "w", Queue: store.DefaultQueue, Kinds: leases, AttemptIDs: attempts(n)})
				if err != nil || len(claimed) != n {
					t.Fatal(fmt.Sprint(len(claimed), " claimed"), err)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no claim was looked at")
	}
}
