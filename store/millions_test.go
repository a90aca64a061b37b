package store_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Among MILLIONS_JOBS jobs: what a page of the list and the triage page take with
// each filter alone, what a preview of 120,000 jobs takes, and at which rate they
// are requeued, with what that does to claims. It prints, and asserts no time.
func TestFiguresAmongMillionsOfJobs(t *testing.T) {
	jobs, _ := strconv.Atoi(os.Getenv("MILLIONS_JOBS"))
	if jobs == 0 {
		t.Skip("MILLIONS_JOBS says among how many")
	}
	const failed, quick = 120_000, 20_000
	f := open(t)
	f.exec(`insert into fenceline.jobs (kind, queue, key, state, generation, revision, attempt_id, attempt_end, attempts_used, lease_until, claimed_at, finished_at, run_at, created_at, worker, args, tags, request_hash)
		select 'kind-' || i % 20, 'queue-' || i % 5, 'key-' || i, 'completed', 1, 3, md5(i::text)::uuid, 'completed', 1, now(), now(), now() - i * interval '1 second', now() - i * interval '1 second', now() - i * interval '1 second',
			'host-' || i % 50, jsonb_build_object('customer_id', i), case when i % 1000 = 0 then array['urgent'] end, sha256(i::text::bytea) from generate_series(1, $1::int) i`, jobs-failed)
	f.exec(`insert into fenceline.jobs (kind, state, generation, revision, attempt_id, attempt_end, attempts_used, max_attempts, lease_until, claimed_at, finished_at, worker, args)
		select 'report', 'discarded', 1, 3, md5(i::text)::uuid, 'failed', 1, 1, now(), now(), now(), 'host-1', jsonb_build_object('customer_id', i) from generate_series(1, $1::int) i`, failed)
	f.exec(`insert into fenceline.jobs (kind, queue, state) select 'quick', 'quick', 'available' from generate_series(1, $1::int)`, quick)
	f.exec(`vacuum analyze fenceline.jobs`)

	of := func(n int, do func() error) (p50, p99 time.Duration) {
		t.Helper()
		took := make([]time.Duration, n)
		for i := range took {
			begun := time.Now()
			if err := do(); err != nil {
				t.Fatal(err)
			}
			took[i] = time.Since(begun)
		}
		slices.Sort(took)
		return took[n/2], took[n*99/100]
	}
	for _, line := range []string{"", "state:discarded", "state:running", "kind:report", "kind:kind-7", "queue:queue-3", "key:key-777", "id:>1000000", "worker:host-7", "tag:urgent", "older:1h", "newer:1h",
		"finished:>-2h", "attempts:1", "error:boom", "lease:expired", "refused:yes", "args.customer_id:777"} {
		filter := store.Filter{Query: parsed(line)}
		p50, p99 := of(100, func() error { _, err := f.Jobs(f.ctx, filter); return err })
		t.Logf("list %-22q p50 %8.1f ms  p99 %8.1f ms", line, ms(p50), ms(p99))
	}
	p50, p99 := of(100, func() error { _, err := f.Home(f.ctx); return err })
	t.Logf("home %22s p50 %8.1f ms  p99 %8.1f ms", "", ms(p50), ms(p99))

	claim := func() error {
		got, err := f.Claim(f.ctx, store.ClaimParams{Worker: "q", Queue: "quick", Kinds: []store.KindLease{{Kind: "quick", Lease: time.Minute}}, AttemptIDs: attempts(1)})
		if err == nil && len(got) != 1 {
			err = fmt.Errorf("claimed %d", len(got))
		}
		return err
	}
	alone50, alone99 := of(2000, claim)
	begun := time.Now()
	o := f.preview(store.ActionRequeue, "state:discarded kind:report")
	t.Logf("preview of %d: %.2f s", failed, time.Since(begun).Seconds())
	ctx, stop := context.WithCancel(f.ctx)
	var carrying sync.WaitGroup
	pace, _ := strconv.Atoi(os.Getenv("MILLIONS_PACE")) // jobs a minute; 0 for no bound
	f.confirm(o, store.Rules{Pace: pace})
	begun = time.Now()
	var took time.Duration
	carrying.Go(func() {
		defer stop()
		for is := o; is.State != store.OperationFinished; time.Sleep(time.Millisecond) {
			var err error
			if _, err = f.StepOperation(f.ctx, "w-1"); err == nil {
				is, err = f.Operation(f.ctx, o.ID)
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
		took = time.Since(begun)
	})
	var during []time.Duration
	for ctx.Err() == nil && len(during) < quick-3000 {
		at := time.Now()
		if err := claim(); err != nil {
			t.Fatal(err)
		}
		during = append(during, time.Since(at))
	}
	carrying.Wait()
	slices.Sort(during)
	t.Logf("requeued at %.0f/s; a claim alone p50 %.2f ms p99 %.2f ms, meanwhile p50 %.2f ms p99 %.2f ms (%d claims)", failed/took.Seconds(),
		ms(alone50), ms(alone99), ms(during[len(during)/2]), ms(during[len(during)*99/100]), len(during))
	if n := value[int](f, "select count(*) from fenceline.jobs where kind = 'report' and state = 'available'"); n != failed {
		t.Errorf("%d of %d are requeued", n, failed)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
