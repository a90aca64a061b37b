package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestAMergedIncidentIsPartOfTheOneThatGoesOn(t *testing.T) {
	f := open(t)
	for range 2 {
		f.enqueue(store.Request{})
	}
	late := store.Sighting{Rule: "backlog", Scope: "queue default", Queue: "default", Severity: "medium", What: "late"}
	kept := f.watch(time.Hour, late).Opened[0].ID
	f.claimAs("a", 2)
	f.lapse(1, 2)
	f.expire()
	f.rollAll()
	gone := f.watch(time.Hour, spike).Opened[0].ID
	var invalid *store.InvalidError
	for _, into := range []int64{0, gone, 99} {
		if _, err := f.changeIncident(gone, store.IncidentChange{Action: store.IncidentMerge, Into: into}); !errors.As(err, &invalid) || invalid.Field != "into" {
			t.Errorf("into %d: %v", into, err)
		}
	}
	if got := actions(f.incident(gone)); got != "expired opened" {
		t.Errorf("a refused merge left %q", got)
	}
	i, err := f.changeIncident(gone, store.IncidentChange{Action: store.IncidentMerge, Into: kept, Reason: "one cause"})
	if err != nil || i.State != store.IncidentResolved || i.MergedInto != kept {
		t.Fatalf("%+v %v", i, err)
	}
	v := f.incident(kept)
	if v.Touched.N != 2 || len(v.Merged) != 1 || v.Incident.Revision != 2 || v.Incident.State != store.IncidentOpen {
		t.Errorf("%+v", v)
	}
	if got := actions(v); got != "expired opened opened joined merge" && got != "expired opened opened merge joined" {
		t.Errorf("the timeline is %q", got)
	}
	// What the merged one's rule finds keeps the other from being quiet.
	f.exec("update fenceline.incidents set found_at = now() - interval '2 hours'")
	if w := f.watch(time.Hour, spike); len(w.Opened)+len(w.Reopened)+len(w.Resolved) != 0 {
		t.Errorf("found again: %+v", w)
	}
	// And opens it again, when it happens after the resolve.
	if _, err := f.changeIncident(kept, store.IncidentChange{Action: store.IncidentResolve, Reason: "done"}); err != nil {
		t.Fatal(err)
	}
	if w := f.watch(time.Hour, spike); len(w.Opened)+len(w.Reopened) != 0 {
		t.Errorf("opened by what had happened before: %+v", w)
	}
	f.enqueue(store.Request{Priority: -1})
	f.claim("b")
	f.lapse(3)
	f.expire()
	if w := f.watch(time.Hour, spike); len(w.Opened) != 0 || len(w.Reopened) != 1 || w.Reopened[0].ID != kept {
		t.Errorf("after the resolve: %+v", w)
	}
	if got := f.incident(kept).Touched.N; got != 3 {
		t.Errorf("%d jobs", got)
	}
	f.rollAll()
	if got := f.incident(kept).Touched.N; got != 3 {
		t.Errorf("%d jobs once counted", got)
	}
	var conflict *store.IncidentConflictError
	if _, err := f.changeIncident(gone, store.IncidentChange{Action: store.IncidentAcknowledge}); !errors.As(err, &conflict) {
		t.Errorf("a merged one is acted on: %v", err)
	}
}
