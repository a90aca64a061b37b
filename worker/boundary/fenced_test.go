package boundary

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// jobs is a store with an owner's connection to move rows.
type jobs struct {
	*store.Store
	t     *testing.T
	url   string
	owner *pgx.Conn
}

func newJobs(t *testing.T) *jobs {
	t.Helper()
	s, url := storetest.NewWithURL(t)
	owner, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Close(context.Background()) })
	return &jobs{s, t, url, owner}
}

// lapse moves the row and its log, not the clock: the lease is over.
func (j *jobs) lapse(id int64) {
	j.t.Helper()
	for _, sql := range []string{
		`update fenceline.transitions t set lease_until = clock_timestamp() - interval '1 millisecond',
			at = least(t.at, clock_timestamp() - interval '2 milliseconds')
			from fenceline.jobs j where j.id = $1 and t.job_id = j.id and t.attempt_id = j.attempt_id and t.type in ('claimed', 'renewed')`,
		`update fenceline.jobs set lease_until = (select t.lease_until from fenceline.transitions t
			where t.job_id = $1 and t.attempt_id = jobs.attempt_id and t.type in ('claimed', 'renewed') order by t.id desc limit 1) where id = $1`,
	} {
		if _, err := j.owner.Exec(j.t.Context(), sql, id); err != nil {
			j.t.Fatal(err)
		}
	}
	n, err := j.Expire(j.t.Context(), 10, store.Backoff{Base: time.Millisecond, Cap: time.Millisecond})
	if err != nil || n != 1 {
		j.t.Fatalf("expired %d leases, %v", n, err)
	}
}

func (j *jobs) claim(worker string) store.Lease {
	j.t.Helper()
	claimed, err := j.Claim(j.t.Context(), store.ClaimParams{Worker: worker, Queue: store.DefaultQueue,
		Kinds: []store.KindLease{{Kind: "report", Lease: time.Hour}}, AttemptIDs: []uuid.UUID{uuid.New()}})
	if err != nil || len(claimed) != 1 {
		j.t.Fatalf("claimed %d jobs, %v", len(claimed), err)
	}
	return claimed[0].Lease
}

func (j *jobs) complete(worker string, l store.Lease, result string, ups ...store.FollowUp) error {
	j.t.Helper()
	out, err := j.Complete(j.t.Context(), worker, []store.Completion{{Lease: l, Result: json.RawMessage(result), FollowUps: ups}})
	if err != nil {
		j.t.Fatal(err)
	}
	return out[0].Err
}

func (j *jobs) verified() {
	j.t.Helper()
	report, err := j.Verify(j.t.Context())
	if err != nil || len(report.Violations) > 0 {
		j.t.Errorf("verify: %v, %v", report.Violations, err)
	}
}

// The same race once more, where the check is part of the write: a renewal
// said yes, the attempt is paused past its lease, and its result is refused.
func TestTheSameRaceIsWonWhereTheResultIsStored(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	made, err := j.Enqueue(t.Context(), store.Request{Kind: "report"})
	if err != nil {
		t.Fatal(err)
	}
	a := j.claim("a")
	if out, err := j.Renew(t.Context(), "a", []store.Renewal{{Lease: a, For: time.Hour}}); err != nil || out[0].Err != nil {
		t.Fatalf("the check before the pause: %v, %v", out, err)
	}
	j.lapse(made.ID) // a is paused here
	b := j.claim("b")
	if err := j.complete("b", b, `"by b"`); err != nil {
		t.Errorf("the newer attempt: %v", err)
	}
	var stale *store.StaleError
	if err := j.complete("a", a, `"by a"`); !errors.As(err, &stale) || stale.Reason != store.ReasonSuperseded || stale.Current != b.Generation {
		t.Errorf("the paused attempt: %v", err)
	}
	p, err := j.Payload(t.Context(), made.ID)
	if err != nil || string(p.Result) != `"by b"` {
		t.Errorf("the stored result is %s, %v", p.Result, err)
	}
	v, err := j.JobView(t.Context(), made.ID)
	if err != nil || len(v.History.Lanes) != 2 || len(v.History.Lanes[0].Refused) != 1 {
		t.Errorf("the refusal is not on the lane of the paused attempt: %+v, %v", v.History.Lanes, err)
	}
	j.verified()
}
