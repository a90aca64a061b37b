package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

var spike = store.Sighting{Rule: "expiry-spike", Severity: "high", What: "6 leases expired.", N: 6, Search: "lost:>-15m", Types: []store.Type{store.TypeExpired}}

func (f *fixture) watch(quiet time.Duration, found ...store.Sighting) store.Watched {
	f.t.Helper()
	w, err := f.Watch(f.ctx, found, quiet)
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

func (f *fixture) incident(id int64) store.IncidentView {
	f.t.Helper()
	v, err := f.Incident(f.ctx, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

func (f *fixture) changeIncident(id int64, c store.IncidentChange) (store.Incident, error) {
	f.t.Helper()
	c.ID, c.Actor = id, "oncall"
	if c.Seen == nil {
		seen := f.incident(id).Incident.Revision
		c.Seen = &seen
	}
	return f.ChangeIncident(f.ctx, c)
}

func actions(v store.IncidentView) string {
	var all []string
	for _, l := range v.Line {
		all = append(all, string(l.Action)+string(l.Type))
	}
	return strings.Join(all, " ")
}

func TestAnIncidentLivesFromItsFirstSightToQuiet(t *testing.T) {
	f := open(t)
	w := f.watch(time.Hour, spike)
	if len(w.Opened) != 1 || w.Opened[0].State != store.IncidentOpen || w.Opened[0].Revision != 1 {
		t.Fatalf("%+v", w)
	}
	id := w.Opened[0].ID
	more := spike
	more.N, more.What = 9, "9 leases expired."
	if w := f.watch(time.Hour, more); len(w.Opened)+len(w.Reopened)+len(w.Resolved) != 0 {
		t.Errorf("seen again: %+v", w)
	}
	if i := f.incident(id).Incident; i.N != 9 || i.Revision != 1 || i.What != more.What {
		t.Errorf("not brought up to date: %+v", i)
	}
	i, err := f.changeIncident(id, store.IncidentChange{Action: store.IncidentAcknowledge, For: time.Hour, Reason: "mine"})
	if err != nil || i.State != store.IncidentAcknowledged || i.Owner != "oncall" || i.OwnedUntil.IsZero() || i.Revision != 2 {
		t.Fatalf("%+v %v", i, err)
	}
	if i, err = f.changeIncident(id, store.IncidentChange{Action: store.IncidentSnooze, For: time.Hour}); err != nil || !i.Snoozed(i.ChangedAt) {
		t.Errorf("%+v %v", i, err)
	}
	if i, err = f.changeIncident(id, store.IncidentChange{Action: store.IncidentSeverity, Severity: "low"}); err != nil || i.Severity != "low" {
		t.Errorf("%+v %v", i, err)
	}
	if i, err = f.ChangeIncident(f.ctx, store.IncidentChange{ID: id, Actor: "other", Action: store.IncidentNote, Reason: "the host was\nrebooted"}); err != nil || i.Revision != 4 {
		t.Errorf("a note changed the revision: %+v %v", i, err)
	}
	f.exec("update fenceline.incidents set owned_until = now() - interval '1 second'")
	f.watch(time.Hour, more)
	if i := f.incident(id).Incident; i.State != store.IncidentOpen {
		t.Errorf("the acknowledgement has ended: %+v", i)
	}
	f.exec("update fenceline.incidents set found_at = now() - interval '2 hours'")
	if w := f.watch(time.Hour); len(w.Resolved) != 1 || w.Resolved[0].ID != id {
		t.Fatalf("not resolved after quiet: %+v", w)
	}
	if got, want := actions(f.incident(id)), "opened acknowledge snooze severity note lapsed quiet"; got != want {
		t.Errorf("the timeline is %q, want %q", got, want)
	}
	list, err := f.Incidents(f.ctx)
	if err != nil || len(list.Active) != 0 || len(list.Past) != 1 {
		t.Errorf("%+v %v", list, err)
	}
}

// Whoever acts on another incident than he looked at is told what it is now.
func TestAnActionOnAnIncidentThatChangedIsRefused(t *testing.T) {
	f := open(t)
	id := f.watch(time.Hour, spike).Opened[0].ID
	old := int64(1)
	if _, err := f.changeIncident(id, store.IncidentChange{Action: store.IncidentAcknowledge}); err != nil {
		t.Fatal(err)
	}
	var conflict *store.IncidentConflictError
	if _, err := f.changeIncident(id, store.IncidentChange{Action: store.IncidentResolve, Reason: "done", Seen: &old}); !errors.As(err, &conflict) || conflict.Why != store.ConflictChanged || conflict.Incident.Owner != "oncall" {
		t.Errorf("%v", err)
	}
	if got := actions(f.incident(id)); got != "opened acknowledge" {
		t.Errorf("a refused action left %q", got)
	}
	if _, err := f.changeIncident(id, store.IncidentChange{Action: store.IncidentResolve, Reason: "done"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.changeIncident(id, store.IncidentChange{Action: store.IncidentAcknowledge}); !errors.As(err, &conflict) || conflict.Why != store.ConflictAlreadyEnded {
		t.Errorf("%v", err)
	}
	one := int64(1)
	for field, c := range map[string]store.IncidentChange{
		"reason": {Action: store.IncidentResolve, Seen: &one}, "for": {Action: store.IncidentSnooze, Seen: &one}, "severity": {Action: store.IncidentSeverity, Severity: "dire", Seen: &one},
		"action": {Action: "shout", Seen: &one}, "seen": {Action: store.IncidentAcknowledge},
	} {
		var invalid *store.InvalidError
		c.ID = id
		if _, err := f.ChangeIncident(f.ctx, c); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := f.Incident(f.ctx, 99); !errors.Is(err, store.ErrNoIncident) {
		t.Error(err)
	}
	if _, err := f.ChangeIncident(f.ctx, store.IncidentChange{ID: 99, Action: store.IncidentNote, Reason: "x"}); !errors.Is(err, store.ErrNoIncident) {
		t.Error(err)
	}
}

// A resolve and a recurrence, in both orders of the log. What counts is what had
// committed when the incident was resolved, not what any clock says.
func TestOnlyWhatHappensAfterAResolveOpensAnIncidentAgain(t *testing.T) {
	f := open(t)
	expired := func(tx pgx.Tx) {
		if _, err := tx.Exec(f.ctx, "insert into fenceline.transitions (job_id, type, kind, queue) values (7, 'expired', 'report', 'default')"); err != nil {
			t.Fatal(err)
		}
	}
	before := f.begin()
	expired(before)
	f.commit(before)
	id := f.watch(time.Hour, spike).Opened[0].ID
	open := f.begin() // written before the resolve, committed after it
	expired(open)
	if _, err := f.changeIncident(id, store.IncidentChange{Action: store.IncidentResolve, Reason: "restarted"}); err != nil {
		t.Fatal(err)
	}
	if w := f.watch(time.Hour, spike); len(w.Reopened)+len(w.Opened) != 0 {
		t.Fatalf("opened by what had happened before the resolve: %+v", w)
	}
	f.commit(open)
	other := spike
	other.Kind = "letter"
	if w := f.watch(time.Hour, other); len(w.Reopened) != 0 {
		t.Fatalf("opened by another kind: %+v", w)
	}
	w := f.watch(time.Hour, spike)
	if len(w.Reopened) != 1 || w.Reopened[0].ID != id || w.Reopened[0].State != store.IncidentOpen || w.Reopened[0].Reopened != 1 || w.Reopened[0].Owner != "" {
		t.Fatalf("not opened by what happened after the resolve: %+v", w)
	}
	if got := actions(f.incident(id)); got != "opened resolve reopened" {
		t.Errorf("the timeline is %q", got)
	}
	// A day later it is another one.
	if _, err := f.changeIncident(id, store.IncidentChange{Action: store.IncidentResolve, Reason: "again"}); err != nil {
		t.Fatal(err)
	}
	f.exec("update fenceline.incidents set resolved_at = now() - interval '2 days'")
	after := f.begin()
	expired(after)
	f.commit(after)
	if w := f.watch(time.Hour, spike); len(w.Opened) != 1 || w.Opened[0].ID == id {
		t.Errorf("%+v", w)
	} else if v := f.incident(w.Opened[0].ID); len(v.Similar) != 1 || v.Similar[0].ID != id {
		t.Errorf("the earlier one is not shown: %+v", v.Similar)
	}
}

// What no log holds is found again only after it was gone.
func TestAConditionThatPersistsDoesNotOpenAResolvedIncident(t *testing.T) {
	f := open(t)
	late := store.Sighting{Rule: "backlog", Scope: "queue mail", Queue: "mail", Severity: "medium", What: "late"}
	id := f.watch(time.Hour, late).Opened[0].ID
	if _, err := f.changeIncident(id, store.IncidentChange{Action: store.IncidentResolve, Reason: "known"}); err != nil {
		t.Fatal(err)
	}
	seen := f.incident(id).Incident
	for range 2 {
		if w := f.watch(time.Hour, late); len(w.Reopened)+len(w.Opened) != 0 {
			t.Errorf("%+v", w)
		}
	}
	if now := f.incident(id).Incident; !now.FoundAt.Equal(seen.FoundAt) || now.FoundAt.After(now.ResolvedAt) || !value[bool](f, "select lingers_at > resolved_at from fenceline.incidents") {
		t.Errorf("resolved at %s, it was found last at %s and then at %s", now.ResolvedAt, seen.FoundAt, now.FoundAt)
	}
	f.exec("update fenceline.incidents set found_at = now() - interval '5 minutes', lingers_at = now() - interval '4 minutes'")
	if w := f.watch(time.Hour, late); len(w.Reopened) != 1 || !w.Reopened[0].FoundAt.After(seen.ResolvedAt) {
		t.Errorf("%+v", w)
	}
}

func TestATimelineMixesTheLogsMinutesWithWhatWasDone(t *testing.T) {
	f := open(t)
	f.enqueue(store.Request{})
	f.claim("a")
	f.lapse(1)
	f.expire()
	f.rollAll()
	id := f.watch(time.Hour, spike).Opened[0].ID
	if got := actions(f.incident(id)); got != "expired opened" {
		t.Errorf("the timeline is %q", got)
	}
	if mine, err := f.WatchTurn(f.ctx, time.Hour); err != nil || !mine {
		t.Error(mine, err)
	}
	if mine, err := f.WatchTurn(f.ctx, time.Hour); err != nil || mine {
		t.Error("two processes have a turn", mine, err)
	}
	if code(func() error { _, err := f.runtime().Exec(f.ctx, "delete from fenceline.incident_entries"); return err }()) != "42501" {
		t.Error("the runtime role may remove entries")
	}
}
