package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// told is what a target hears: one line for each message, one word for each
// incident in it. It is delivered then.
func (f *fixture) told(rule store.NoticeRule) string {
	f.t.Helper()
	words, delivery := f.message(rule)
	if words != "" {
		f.complete("messenger", delivery, `{}`)
	}
	return words
}

// message is what told is, and the lease of the job that is to deliver it.
func (f *fixture) message(rule store.NoticeRule) (string, store.Lease) {
	f.t.Helper()
	rule.Body = func(now time.Time, all []store.Notice) (json.RawMessage, error) {
		if since := time.Since(now); since < -time.Hour || since > time.Hour {
			f.t.Errorf("told at %s", now)
		}
		words := make([]string, len(all))
		for n, told := range all {
			words[n] = fmt.Sprintf("%d:%s>%s", told.Incident.ID, told.Was, told.Incident.State)
		}
		return json.Marshal(strings.Join(words, " "))
	}
	id, err := f.Tell(f.ctx, rule)
	if err != nil {
		f.t.Fatal(err)
	}
	if id == 0 {
		return "", store.Lease{}
	}
	words := value[string](f, "select args ->> 'body' from fenceline.jobs where id = $1 and kind = 'http' and queue = 'notices' and args ->> 'target' = $2 and enqueued_by = 'fenceline'", id, rule.Target)
	return words, f.messenger()
}

// messenger claims a message.
func (f *fixture) messenger() store.Lease {
	f.t.Helper()
	claimed, err := f.Claim(f.ctx, store.ClaimParams{
		Worker: "messenger", Queue: store.NoticeQueue, Kinds: []store.KindLease{{Kind: store.NoticeKind, Lease: lease}}, AttemptIDs: attempts(1),
	})
	if err != nil || len(claimed) != 1 {
		f.t.Fatalf("claimed %d messages: %v", len(claimed), err)
	}
	return claimed[0].Lease
}

func TestATargetIsToldWhatItDoesNotKnowAndNothingTwice(t *testing.T) {
	f := open(t)
	rule := store.NoticeRule{Target: "pager", Severities: []string{"medium", "high"}, Most: 50}
	expect := func(what, want string) {
		t.Helper()
		if got := f.told(rule); got != want {
			t.Errorf("%s: told %q, want %q", what, got, want)
		}
		if got := f.told(rule); got != "" {
			t.Errorf("%s: told %q again", what, got)
		}
	}
	change := func(id int64, ch store.IncidentChange) {
		t.Helper()
		if _, err := f.changeIncident(id, ch); err != nil {
			t.Fatal(err)
		}
	}
	expect("nothing is wrong", "")
	high := f.watch(time.Hour, spike).Opened[0].ID
	low := f.watch(time.Hour, store.Sighting{Rule: "new-error", Scope: "a", Severity: "low"}).Opened[0].ID
	short := f.watch(time.Hour, store.Sighting{Rule: "backlog", Scope: "queue a", Severity: "medium"}).Opened[0].ID
	change(short, store.IncidentChange{Action: store.IncidentResolve, Reason: "over before it was told"})
	expect("one that is worth it", fmt.Sprintf("%d:>open", high))
	change(low, store.IncidentChange{Action: store.IncidentSeverity, Severity: "high"})
	change(high, store.IncidentChange{Action: store.IncidentAcknowledge})
	expect("a raised one and an acknowledged one", fmt.Sprintf("%d:open>acknowledged %d:>open", high, low))
	change(low, store.IncidentChange{Action: store.IncidentSeverity, Severity: "low"})
	expect("who heard of it hears that it matters less", fmt.Sprintf("%d:open>open", low))
	change(low, store.IncidentChange{Action: store.IncidentSeverity, Severity: "high"})
	change(low, store.IncidentChange{Action: store.IncidentSnooze, For: time.Hour})
	expect("a snoozed one", "")
	change(low, store.IncidentChange{Action: store.IncidentMerge, Into: high})
	rule.Severities = []string{"high"}
	expect("a merged one, which was told as low", "")
	rule.Severities = []string{"low", "high"}
	expect("once low ones are told", fmt.Sprintf("%d:open>resolved", low))
	change(high, store.IncidentChange{Action: store.IncidentResolve, Reason: "done"})
	rule.Every = time.Hour
	expect("within the hour", "")
	f.exec("update fenceline.notice_targets set at = at - interval '2 hours'")
	expect("after it", fmt.Sprintf("%d:acknowledged>resolved", high))
	rule.Every = 0
	other := rule
	other.Target = "room"
	if got := f.told(other); got != "" {
		t.Errorf("another target, which knows nothing: %q", got)
	}
	if all, err := f.Told(f.ctx, []string{"pager", "room"}); err != nil || len(all) != 1 || all["pager"].Job == 0 {
		t.Errorf("%v %v", all, err)
	}
	// A pager hears that an incident is open before it hears that somebody has it,
	// also when that one was taken before it could be told, or opens again so.
	pager := store.NoticeRule{Target: "calls", Severities: []string{"high"}, Most: 1, OpenFirst: true}
	taken := f.watch(time.Hour, store.Sighting{Rule: "backlog", Scope: "queue taken", Severity: "high"}).Opened[0].ID
	change(taken, store.IncidentChange{Action: store.IncidentAcknowledge})
	rounds := func(want ...string) {
		t.Helper()
		for _, w := range append(want, "") {
			if got := f.told(pager); got != w {
				t.Errorf("a pager was told %q, want %q", got, w)
			}
		}
	}
	rounds(fmt.Sprintf("%d:>open", taken), fmt.Sprintf("%d:open>acknowledged", taken))
	change(taken, store.IncidentChange{Action: store.IncidentResolve, Reason: "done"})
	rounds(fmt.Sprintf("%d:acknowledged>resolved", taken))
	// As if it had opened again and been taken at once.
	f.exec("update fenceline.incidents set state = 'acknowledged', owner = 'ada', resolved_at = null, resolved_in = null, reopened = reopened + 1 where id = $1", taken)
	rounds(fmt.Sprintf("%d:resolved>open", taken), fmt.Sprintf("%d:open>acknowledged", taken))
	change(taken, store.IncidentChange{Action: store.IncidentResolve, Reason: "done"})

	// Many look at once; each change is told once.
	var each []store.Sighting
	for n := range 5 {
		each = append(each, store.Sighting{Rule: "backlog", Scope: fmt.Sprint("queue ", n), Severity: "high"})
	}
	f.watch(time.Hour, each...)
	rule.Most = 1
	rule.Body = func(_ time.Time, all []store.Notice) (json.RawMessage, error) { return json.Marshal(len(all)) }
	before := value[int](f, "select count(*) from fenceline.jobs")
	var together sync.WaitGroup
	for range 4 {
		together.Go(func() {
			for range 20 {
				if _, err := f.Tell(f.ctx, rule); err != nil {
					t.Error(err)
				}
			}
		})
	}
	together.Wait()
	if n := value[int](f, "select count(*) from fenceline.jobs") - before; n != 5 {
		t.Errorf("5 changes made %d messages", n)
	}
	// What cannot be said leaves nothing behind.
	f.watch(time.Hour, store.Sighting{Rule: "backlog", Scope: "last", Severity: "high"})
	good := rule.Body
	rule.Body = func(time.Time, []store.Notice) (json.RawMessage, error) { return json.RawMessage(`"\u0000"`), nil }
	if _, err := f.Tell(f.ctx, rule); err == nil {
		t.Error("a body that cannot be stored is told")
	}
	rule.Body = good
	if id, err := f.Tell(f.ctx, rule); err != nil || id == 0 {
		t.Errorf("afterwards: %d, %v", id, err)
	}
}

func TestATargetHearsOfAnIncidentInOrderAlsoWhenAMessageIsTriedAgain(t *testing.T) {
	f := open(t)
	rule := store.NoticeRule{Target: "calls", Severities: []string{"high"}, Most: 1, OpenFirst: true}
	var found []int64
	for _, scope := range []string{"a", "b"} {
		found = append(found, f.watch(time.Hour, store.Sighting{Rule: "backlog", Scope: "queue " + scope, Severity: "high"}).Opened[0].ID)
	}
	end := func(id int64) {
		t.Helper()
		if _, err := f.changeIncident(id, store.IncidentChange{Action: store.IncidentResolve, Reason: "done"}); err != nil {
			t.Fatal(err)
		}
	}
	hears := func(when, want string) {
		t.Helper()
		if got := f.told(rule); got != want {
			t.Errorf("%s: told %q, want %q", when, got, want)
		}
	}
	first, delivery := f.message(rule)
	if want := fmt.Sprintf("%d:>open", found[0]); first != want {
		t.Fatalf("told %q, want %q", first, want)
	}
	end(found[0])
	hears("while the first message is on its way, of the other incident", fmt.Sprintf("%d:>open", found[1]))
	hears("and of the first", "")
	f.fail("messenger", store.Failure{Lease: delivery, Delay: time.Hour})
	hears("while it waits to be tried again", "")
	f.exec("update fenceline.jobs set state = 'available', run_at = clock_timestamp() where state = 'retryable'")
	f.complete("messenger", f.messenger(), `{}`)
	hears("once it is delivered", fmt.Sprintf("%d:open>resolved", found[0]))

	end(found[1])
	_, delivery = f.message(rule)
	f.fail("messenger", store.Failure{Lease: delivery, Permanent: true, Reason: store.ReasonPermanent})
	f.exec("update fenceline.incidents set state = 'open', resolved_at = null, resolved_in = null, reopened = reopened + 1 where id = $1", found[1])
	hears("once a message is given up", fmt.Sprintf("%d:resolved>open", found[1]))

	// What does not arrive is a fact, and no target is told that it is itself out of reach.
	facts := func() []store.Undelivered {
		t.Helper()
		all, err := f.Facts(f.ctx)
		if err != nil {
			t.Fatal(err)
		}
		return all.Undelivered
	}
	if all := facts(); len(all) != 0 {
		t.Errorf("all was delivered: %+v", all)
	}
	end(found[1])
	_, delivery = f.message(rule)
	f.fail("messenger", store.Failure{Lease: delivery, Delay: time.Hour, Error: store.AttemptError{Class: "boom", Message: "no route"}})
	if all := facts(); len(all) != 1 || all[0] != (store.Undelivered{Target: "calls", JobID: delivery.JobID, Failed: 1}) {
		t.Errorf("%+v", all)
	}
	for more := true; more; {
		rolled, err := f.Roll(f.ctx)
		if more = rolled.More; err != nil {
			t.Fatal(err)
		}
	}
	// Each new message fails as the one before it: all count until one arrives.
	third := f.watch(time.Hour, store.Sighting{Rule: "backlog", Scope: "queue c", Severity: "high"}).Opened[0].ID
	_, second := f.message(rule)
	f.fail("messenger", store.Failure{Lease: second, Permanent: true, Reason: store.ReasonPermanent, Error: store.AttemptError{Class: "boom", Message: "no route"}})
	if all := facts(); len(all) != 1 || all[0] != (store.Undelivered{Target: "calls", JobID: second.JobID, Failed: 2, GivenUp: true}) {
		t.Errorf("%+v", all)
	}
	f.exec("update fenceline.jobs set state = 'available', run_at = clock_timestamp() where state = 'retryable'")
	f.complete("messenger", f.messenger(), `{}`)
	if all := facts(); len(all) != 0 {
		t.Errorf("after one arrived: %+v", all)
	}
	if n := value[int](f, "select count(*) from fenceline.rollup_errors"); n != 0 {
		t.Errorf("%d sorts of errors of notices are counted", n)
	}
	silent := f.watch(time.Hour, store.Sighting{Rule: store.RuleUndelivered, Scope: store.UndeliveredScope("calls"), Severity: "high"}).Opened[0].ID
	hears("that it does not hear", "")
	room := rule
	room.Target, room.Most = "room", 50
	if got := f.told(room); got != fmt.Sprintf("%d:>open %d:>open", third, silent) {
		t.Errorf("the other target was told %q", got)
	}
}
