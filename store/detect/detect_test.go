package detect_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
	"github.com/fenceline/fenceline/store/storetest"
)

var noon = time.Date(2026, 11, 3, 12, 0, 30, 0, time.UTC)

func count(ago time.Duration, what store.Type, n, marked int64) store.Minute {
	return store.Minute{At: noon.Add(-ago).Truncate(time.Minute), Queue: "mail", Kind: "letter", Type: what, N: n, Marked: marked}
}

// Each rule finds what it is about at its threshold, and nothing below it.
func TestEachRuleFindsWhatItIsAboutFromItsThresholdOn(t *testing.T) {
	late := func(n int64) store.Minute {
		m := count(time.Minute, store.TypeRejected, n, 0)
		m.Reason = string(store.ReasonSuperseded)
		return m
	}
	ended := count(time.Hour-2*time.Minute, store.TypeCompleted, 100, 0)
	ended.Spans, ended.Span = 100, 100*2*time.Minute
	for rule, c := range map[string]struct {
		found, not store.Facts
		scope      string
		n          int64
	}{
		"broken-promise": {store.Facts{Broken: store.BrokenPromise{N: 1, Stale: 1, Newest: store.Violation{Invariant: "I4", JobID: 7, Transition: 9}}}, store.Facts{}, "", 1},
		"expiry-spike":   {store.Facts{Minutes: []store.Minute{count(time.Minute, store.TypeExpired, 2, 0), count(4*time.Minute, store.TypeExpired, 3, 0)}}, store.Facts{Minutes: []store.Minute{count(time.Minute, store.TypeExpired, 4, 0), count(7*time.Minute, store.TypeExpired, 9, 0)}}, "", 5},
		"refused-writes": {store.Facts{Minutes: []store.Minute{late(1)}}, store.Facts{Minutes: []store.Minute{count(time.Minute, store.TypeRejected, 9, 0)}}, "kind letter", 1},
		"crash-loop":     {store.Facts{Loops: []store.Loop{{JobID: 7, Kind: "letter", Expiries: 3}}}, store.Facts{Loops: []store.Loop{{JobID: 7, Expiries: 2}}}, "job 7", 3},
		"lease-too-short": {store.Facts{Minutes: []store.Minute{count(time.Minute, store.TypeRenewed, 50, 10)}},
			store.Facts{Minutes: []store.Minute{count(time.Minute, store.TypeRenewed, 51, 10)}}, "kind letter", 10},
		"failure-rate": {store.Facts{Minutes: []store.Minute{count(time.Minute, store.TypeFailed, 10, 0), count(time.Minute, store.TypeCompleted, 40, 0), count(time.Hour-time.Minute, store.TypeFailed, 10, 0), count(time.Hour-time.Minute, store.TypeCompleted, 90, 0)}},
			store.Facts{Minutes: []store.Minute{count(time.Minute, store.TypeFailed, 10, 0), count(time.Minute, store.TypeCompleted, 40, 0), count(time.Hour-time.Minute, store.TypeFailed, 11, 0), count(time.Hour-time.Minute, store.TypeCompleted, 89, 0)}}, "kind letter", 10},
		"new-error": {store.Facts{Errors: []store.ErrorGroup{{Kind: "letter", Fingerprint: "1:ab", First: noon.Add(-14 * time.Minute), N: 3, JobID: 7}}},
			store.Facts{Errors: []store.ErrorGroup{{Kind: "letter", Fingerprint: "1:ab", First: noon.Add(-16 * time.Minute), N: 300, JobID: 7}, {Kind: "letter", Fingerprint: "1:cd", First: noon, N: 2}}}, "kind letter error 1:ab", 3},
		"retry-storm": {store.Facts{Minutes: []store.Minute{count(time.Minute, store.TypeClaimed, 100, 50)}}, store.Facts{Minutes: []store.Minute{count(time.Minute, store.TypeClaimed, 101, 50)}}, "queue mail", 50},
		"backlog": {store.Facts{Waiting: []store.QueueWait{{Queue: "mail", Oldest: 301 * time.Second}}},
			store.Facts{Waiting: []store.QueueWait{{Queue: "mail", Oldest: 300 * time.Second}, {Queue: "paused", Oldest: time.Hour, Paused: true}}}, "queue mail", 0},
		"stuck-job": {store.Facts{Minutes: []store.Minute{ended}, Running: []store.RunningJob{{JobID: 7, Kind: "letter", Since: noon.Add(-21 * time.Minute)}}},
			store.Facts{Minutes: []store.Minute{ended}, Running: []store.RunningJob{{JobID: 7, Kind: "letter", Since: noon.Add(-20 * time.Minute)}, {JobID: 8, Kind: "unknown", Since: noon.Add(-20 * time.Hour)}}}, "job 7", 1},
		"lost-workers":        {store.Facts{Silent: []store.SilentWorker{{ID: "a", Seen: noon.Add(-time.Minute)}}}, store.Facts{Silent: []store.SilentWorker{{ID: "a", Seen: noon.Add(-2 * time.Hour)}}}, "", 1},
		"undelivered-notices": {store.Facts{Undelivered: []store.Undelivered{{Target: "room", JobID: 7, Failed: 3}}}, store.Facts{Undelivered: []store.Undelivered{{Target: "room", JobID: 7, Failed: 2}}}, "target room", 3},
		"counting-behind":     {store.Facts{Behind: 61 * time.Second}, store.Facts{Behind: time.Minute}, "", 0},
	} {
		c.found.Now, c.not.Now = noon, noon
		var found *detect.Finding
		for _, f := range detect.Judge(c.found, detect.Defaults()) {
			if f.Rule == rule {
				found = &f
			}
		}
		if found == nil || found.Scope != c.scope || found.N != c.n || found.What == "" || found.Severity == "" {
			t.Errorf("%s: %+v, want scope %q and %d", rule, found, c.scope, c.n)
		}
		says := map[string]string{
			"refused-writes":      "1 late write of kind letter was refused within 15 minutes; none was accepted.",
			"undelivered-notices": "Notices to target room do not arrive: 3 attempts failed since one did.",
			"backlog":             "A job of queue mail has been due for more than 5m and is not claimed.",
			"counting-behind":     "For more than 1m nothing has counted the log.",
		}[rule]
		if found != nil && says != "" && found.What != says {
			t.Errorf("%s says %q, want %q", rule, found.What, says)
		}
		for _, f := range detect.Judge(c.not, detect.Defaults()) {
			if f.Rule == rule {
				t.Errorf("%s below its threshold: %+v", rule, f)
			}
		}
		if r, known := detect.Find(rule); !known || r.Title == "" || r.Means == "" || r.Do == "" {
			t.Errorf("%s is not told: %+v", rule, r)
		}
	}
	// A notice that fails is an incident of its own rule, and of no other.
	failing := []store.Minute{count(time.Minute, store.TypeFailed, 50, 0), count(time.Minute, store.TypeClaimed, 100, 50)}
	for i := range failing {
		failing[i].Queue, failing[i].Kind = store.NoticeQueue, store.NoticeKind
	}
	all := detect.Judge(store.Facts{Now: noon, Minutes: failing, Undelivered: []store.Undelivered{{Target: "room", JobID: 7, Failed: 1, GivenUp: true}}}, detect.Defaults())
	if len(all) != 1 || all[0].Key() != "undelivered-notices target room" || all[0].What != "Notices to target room do not arrive: 1 attempt failed since one did, and a message was given up." {
		t.Errorf("%+v", all)
	}
	if len(detect.Rules) != 13 {
		t.Errorf("%d rules, and 13 are tested", len(detect.Rules))
	}
}

func TestThresholdsAreSetByNameAndWrongOnesAreNamed(t *testing.T) {
	th := detect.Defaults()
	for _, name := range detect.Names {
		if th.Set(name, "7") != nil && th.Set(name, "7s") != nil {
			t.Errorf("%s cannot be set", name)
		}
	}
	if err := th.Set("objective:mail", "5s"); err != nil || th.Objectives["mail"] != 5*time.Second || th.Expiries != 7 || th.Quiet != 7*time.Second {
		t.Errorf("%v %+v", err, th)
	}
	for name, value := range map[string]string{"expiries": "0", "quiet": "soon", "objective:": "5s", "colour": "red", "behind": "1ms", "failures": "1e3"} {
		if err := th.Set(name, value); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(name, ":")) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// What a log alone tells is what the store reads from its counts and tables.
func TestAReplayKnowsTheFactsThatTheStoreReads(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := t.Context()
	enqueue := func(n int) {
		for range n {
			if _, err := s.Enqueue(ctx, store.Request{Kind: "report", MaxAttempts: 9}); err != nil {
				t.Fatal(err)
			}
		}
	}
	enqueue(1)
	claim := func(n int, lease time.Duration) []store.Claimed {
		ids := make([]uuid.UUID, n)
		for i := range ids {
			ids[i] = uuid.Must(uuid.NewV7())
		}
		held, err := s.Claim(ctx, store.ClaimParams{Worker: "a", Queue: store.DefaultQueue, Kinds: []store.KindLease{{Kind: "report", Lease: lease}}, AttemptIDs: ids})
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	for range 3 { // a job that loses its lease again and again, and one that is refused
		held := claim(1, 100*time.Millisecond)
		for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			n, err := s.Expire(ctx, 10, store.Backoff{Base: time.Millisecond, Cap: time.Millisecond})
			if err != nil || time.Now().After(deadline) {
				t.Fatal(n, err)
			}
			if n > 0 {
				break
			}
		}
		if _, err := s.Complete(ctx, "a", []store.Completion{{Lease: held[0].Lease, Result: json.RawMessage("1")}}); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(time.Millisecond) {
			if j, err := s.Job(ctx, held[0].Lease.JobID); err != nil || j.State == store.Available {
				break
			}
			if _, err := s.Promote(ctx, 10); err != nil || time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	enqueue(7)
	held := claim(5, time.Hour)
	if _, err := s.Renew(ctx, "a", []store.Renewal{{Lease: held[0].Lease, For: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Complete(ctx, "a", []store.Completion{{Lease: held[1].Lease, Result: json.RawMessage("1")}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range held[2:4] {
		if _, err := s.Fail(ctx, "a", []store.Failure{{Lease: c.Lease, Delay: time.Hour, Error: store.AttemptError{Class: "timeout", Message: "no answer"}}}); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if m, err := s.Minutes(ctx, time.Hour); err != nil || time.Now().After(deadline) {
			t.Fatal(err)
		} else if m.Provisional == 0 {
			break
		}
		if _, err := s.Roll(ctx); err != nil {
			t.Fatal(err)
		}
	}
	live, err := s.Facts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	log, err := s.Tail(ctx, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := detect.Write(&file, log); err != nil {
		t.Fatal(err)
	}
	if log, err = detect.Read(&file); err != nil {
		t.Fatal(err)
	}
	replayed := detect.FactsOf(log, live.Now)
	for _, f := range []*store.Facts{&live, &replayed} {
		f.Behind = 0
		slices.SortFunc(f.Minutes, func(a, b store.Minute) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for i := range f.Waiting { // read at another moment
			f.Waiting[i].Oldest = f.Waiting[i].Oldest.Truncate(time.Hour)
		}
	}
	if len(live.Loops) != 1 || len(live.Errors) != 1 || len(live.Running) != 1 || len(live.Waiting) != 1 {
		t.Fatalf("the test shows nothing: %+v", live)
	}
	if !reflect.DeepEqual(live, replayed) {
		t.Errorf("the store reads\n%+v\nthe log tells\n%+v", live, replayed)
	}
	var rules []string
	for _, f := range detect.Judge(live, detect.Defaults()) {
		rules = append(rules, f.Key())
	}
	if got := strings.Join(rules, ", "); got != "crash-loop job 1, refused-writes kind report" {
		t.Errorf("found %s", got)
	}
}

// The log of a real run: 60 jobs of a second and a half, a worker stopped for
// eight seconds and continued, another killed, sixteen jobs that fail, and one
// that kills whoever works it.
func TestARecordedRunGivesTheSameIncidentsAtTheSameTimes(t *testing.T) {
	f, err := os.Open("testdata/paused-and-killed.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := detect.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/paused-and-killed.txt")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var got strings.Builder
		for _, e := range detect.Replay(log, detect.Defaults()) {
			fmt.Fprintf(&got, "%s opened=%v %s %s: %s\n", e.At.Format(time.RFC3339), e.Opened, e.Finding.Severity, e.Finding.Key(), e.Finding.What)
		}
		if got.String() != string(want) {
			t.Fatalf("found\n%s\nwant\n%s", got.String(), want)
		}
		slices.Reverse(log) // how the file is sorted does not matter
	}
}

func TestAnIncidentOfAReplayEndsAfterQuiet(t *testing.T) {
	at := noon.Truncate(time.Minute)
	log := []store.Transition{{ID: 9, JobID: 9, At: at.Add(30 * time.Minute), Type: store.TypeEnqueued, Kind: "letter", To: store.Scheduled}}
	for i := range int64(5) {
		log = append(log, store.Transition{ID: i + 1, JobID: i + 1, At: at.Add(time.Duration(i) * time.Second), Type: store.TypeExpired, Kind: "letter", Queue: "mail", To: store.Discarded})
	}
	events := detect.Replay(log, detect.Defaults())
	if len(events) != 2 || !events[0].Opened || events[1].Opened || !events[0].At.Equal(at.Add(5*time.Second)) || !events[1].At.Equal(at.Add(16*time.Minute-5*time.Second)) {
		t.Errorf("%+v", events)
	}
}

func TestARecordedLineThatCannotBeIsNamed(t *testing.T) {
	for line, want := range map[string]string{"{": "line 2", `{"id":"0"}`: "line 2: id, job_id, at and type", `{"id":1}`: "line 2"} {
		if _, err := detect.Read(strings.NewReader("\n" + line + "\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if log, err := detect.Read(strings.NewReader("")); err != nil || detect.Replay(log, detect.Defaults()) != nil {
		t.Error(err)
	}
}
