package store_test

import (
	"testing"

	"github.com/fenceline/fenceline/store"
)

func TestAViewOfAVeryLongLifeKnowsHowItStandsAndShowsItsNewestPart(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	l := f.claim("a")
	f.exec(`insert into fenceline.transitions (job_id, generation, attempt_id, type, kind, queue, worker, lease_until)
		select $1, $2, $3, 'renewed', 'report', 'default', 'a', $4 from generate_series(1, 20500)`,
		id, l.Generation, l.AttemptID, l.Until)
	if out := f.complete("a", l, `1`); out.Err != nil {
		t.Fatal(out.Err)
	}
	v, err := f.JobView(f.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if v.History.State != store.Completed || len(v.History.Lanes) != 1 || len(v.History.Lanes[0].Renewals) != 20500 {
		t.Errorf("the history is %s with %d lanes", v.History.State, len(v.History.Lanes))
	}
	if len(v.Transitions) != 20000 || v.Transitions[len(v.Transitions)-1].Type != store.TypeCompleted {
		t.Errorf("%d transitions, the last %s", len(v.Transitions), v.Transitions[len(v.Transitions)-1].Type)
	}
}
