package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// A renewal changes nothing that an index holds, so that it stays within its
// page: no index grows with the number of renewals.
func TestARenewalTouchesNoIndex(t *testing.T) {
	f := open(t)
	f.exec("alter table fenceline.jobs set (autovacuum_enabled = off)")
	const jobs, rounds = 200, 20
	f.enqueueMany(slices.Repeat([]store.Request{{Kind: "report"}}, jobs))
	var batch []store.Renewal
	for _, c := range f.claimAs("a", jobs) {
		batch = append(batch, store.Renewal{Lease: c.Lease, For: lease})
	}
	size := value[int64](f, "select pg_indexes_size('fenceline.jobs')")
	for range rounds {
		// Old versions go at once, as they do by themselves unless a transaction is
		// open anywhere on the server.
		f.vacuum("")
		out, err := f.Renew(f.ctx, "a", batch)
		if err != nil || out[0].Err != nil || out[jobs-1].Err != nil {
			t.Fatal(err, out[0], out[jobs-1])
		}
	}
	f.Close() // a session tells its counts when it ends
	var all, hot int64
	for deadline := time.Now().Add(time.Minute); all < jobs*(1+rounds); time.Sleep(10 * time.Millisecond) {
		err := f.owner.QueryRow(f.ctx, "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relid = 'fenceline.jobs'::regclass").Scan(&all, &hot)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%d updates were counted, %v", all, err)
		}
	}
	if share := float64(hot) / (jobs * rounds); all != jobs*(1+rounds) || share < 0.9 {
		t.Errorf("%d of %d renewals stayed within their page", hot, jobs*rounds)
	}
	if now := value[int64](f, "select pg_indexes_size('fenceline.jobs')"); now > size+10*8192 {
		t.Errorf("the indexes grew from %d to %d bytes", size, now)
	}
}
