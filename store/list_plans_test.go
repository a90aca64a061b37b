package store_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Each sort of list reads the index that holds it, and no more of that than the
// page shows, or than one reading looks through.
func TestAmong200000JobsEachListReadsItsIndex(t *testing.T) {
	f := open(t)
	f.crowd()
	f.exec(`insert into fenceline.jobs (kind, state, queue, finished_at, generation, revision, attempt_id, attempt_end, attempts_used, lease_until, claimed_at, worker, key, request_hash)
		select 'import', case when i % 100 = 0 then 'discarded' else 'completed' end::fenceline.job_state, 'bulk', now() - i * interval '1 second', 1, 3, md5(i::text)::uuid,
		       'completed', 1, now(), now(), 'host-' || i % 7, case when i % 50 = 0 then 'import/' || i end, case when i % 50 = 0 then ''::bytea end
		from generate_series(1, $1::int) i`, 200000-planFinished-planRunning-2*planWaiting-planLater)
	f.exec(`insert into fenceline.attempt_errors (job_id, generation, at, attempt_id, class, message, fingerprint)
		select id, 1, now(), attempt_id, 'timeout', 'the ledger did not answer', '1' from fenceline.jobs where state = 'discarded'`)
	if n := value[int](f, "select count(*) from fenceline.jobs"); n != 200000 {
		t.Fatalf("%d jobs", n)
	}
	const few, reading = 250, store.SearchBound + 200
	lists := map[string]struct {
		filter store.Filter
		index  string // one of those that are read
		most   float64
	}{
		"newest":         {store.Filter{}, "jobs_pkey", few},
		"oldest":         {store.Filter{Order: store.OrderOldest}, "jobs_pkey", few},
		"state":          {store.Filter{State: store.Completed}, "jobs_state", few},
		"states":         {store.Filter{Query: parsed("state:running,discarded")}, "jobs_state", few},
		"finished":       {store.Filter{Order: store.OrderFinished}, "jobs_finished", few},
		"finished since": {store.Filter{Query: parsed("finished:>-10m")}, "jobs_finished", few},
		"finished then":  {store.Filter{Query: parsed("finished:-20h..-19h state:completed")}, "jobs_finished", few},
		"due":            {store.Filter{Order: store.OrderDue}, "jobs_due", few},
		"due soon":       {store.Filter{Query: parsed("due:<+1h")}, "jobs_due", few},
		"kind and key":   {store.Filter{Query: parsed("kind:import key:import/5000")}, "jobs_key", few},
		"key":            {store.Filter{Query: parsed("key:import/5000")}, "jobs_key", few},
		"id":             {store.Filter{Query: parsed("id:70000")}, "jobs_pkey", few},
		"lease":          {store.Filter{Query: parsed("lease:expired")}, "type_job_id_idx", few},
		"refused":        {store.Filter{Query: parsed("refused:yes")}, "type_job_id_idx", few},
		"error":          {store.Filter{Query: parsed("error:timeout")}, "attempt_errors_pkey", few},
		"error of state": {store.Filter{Query: parsed("error:timeout state:discarded")}, "jobs_state", few},
		"common kind":    {store.Filter{Query: parsed("kind:import")}, "jobs_pkey", few},
		"rare kind":      {store.Filter{Query: parsed("kind:rare")}, "jobs_pkey", reading},
		"worker":         {store.Filter{Query: parsed("worker:host-3")}, "jobs_pkey", 7 * few},
		"args":           {store.Filter{Query: parsed("args.month:-1")}, "jobs_pkey", few},
	}
	name, seen, took := "", map[string]bool{}, map[string]time.Duration{}
	s := f.planned(func(sql string, generic bool, p plan) {
		if generic {
			t.Errorf("%s: may be planned for any arguments", name)
		}
		list := lists[name]
		var read []string
		p.walk(func(node plan) {
			read = append(read, node.Index)
			if node.NodeType == "Seq Scan" || node.looked() > list.most {
				t.Errorf("%s: %s %s%s looks at %.0f rows, at most %.0f are stated\n%s", name, node.NodeType, node.Relation, node.Index, node.looked(), list.most, p.tree("  "))
			}
		})
		if !slices.ContainsFunc(read, func(index string) bool { return strings.Contains(index, list.index) }) {
			t.Errorf("%s reads %v, want %s\n%s", name, read, list.index, p.tree("  "))
		}
		seen[name] = true
	})
	for _, statistics := range []string{"of tables never analyzed", "fresh"} {
		f.forget(-1)
		if statistics == "fresh" {
			f.exec("analyze fenceline.jobs, fenceline.transitions, fenceline.attempt_errors")
		}
		for _, name = range slices.Sorted(maps.Keys(lists)) {
			if _, err := s.Jobs(f.ctx, lists[name].filter); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			began := time.Now()
			if _, err := f.Jobs(f.ctx, lists[name].filter); err != nil {
				t.Error(err)
			}
			took[name] = time.Since(began)
		}
	}
	if len(seen) != len(lists) {
		t.Errorf("%d lists were looked at", len(seen))
	}
	t.Log(took)
}
