package browser

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

// What a job's page shows, as conditions of the page.
const (
	lastRow   = `document.querySelector('#transitions-rows tr:last-child')?.dataset.type`
	badge     = `document.querySelector('.job-head .badge')?.textContent.trim()`
	liveState = `document.getElementById('live').dataset.state`
)

func (s *site) enqueue(r store.Request) int64 {
	s.t.Helper()
	done, err := s.store.Enqueue(s.ctx, r)
	if err != nil {
		s.t.Fatal(err)
	}
	return done.ID
}

// spent enqueues a job and lets its only attempt fail.
func (s *site) spent(r store.Request) int64 {
	s.t.Helper()
	r.MaxAttempts = 1
	id := s.enqueue(r)
	s.fail(s.claim(r.Kind, time.Minute), store.AttemptError{Class: "timeout", Message: "the archive did not answer"})
	return id
}

// claim claims the next job of a kind as worker w.
func (s *site) claim(kind string, lease time.Duration) store.Lease {
	s.t.Helper()
	got, err := s.store.Claim(s.ctx, store.ClaimParams{Worker: "w", Queue: store.DefaultQueue,
		Kinds: []store.KindLease{{Kind: kind, Lease: lease}}, AttemptIDs: []uuid.UUID{uuid.New()}})
	if err != nil || len(got) != 1 {
		s.t.Fatalf("%d jobs of kind %q were claimed: %v", len(got), kind, err)
	}
	return got[0].Lease
}

func (s *site) renew(l store.Lease, lease time.Duration) {
	s.t.Helper()
	s.accepted(s.store.Renew(s.ctx, "w", []store.Renewal{{Lease: l, For: lease}}))
}

func (s *site) complete(l store.Lease, result string) {
	s.t.Helper()
	s.accepted(s.store.Complete(s.ctx, "w", []store.Completion{{Lease: l, Result: json.RawMessage(result)}}))
}

func (s *site) fail(l store.Lease, e store.AttemptError) {
	s.t.Helper()
	s.accepted(s.store.Fail(s.ctx, "w", []store.Failure{{Lease: l, Delay: time.Hour, Error: e}}))
}

func (s *site) accepted(out []store.Outcome, err error) {
	s.t.Helper()
	if err != nil || out[0].Err != nil {
		s.t.Fatalf("not accepted: %v %v", err, out)
	}
}

// requeue requeues a job as it is now.
func (s *site) requeue(id int64, reason string) {
	s.t.Helper()
	if _, err := s.store.Requeue(s.ctx, store.OperatorParams{JobID: id, Seen: s.job(id).Revision, Actor: "ops", Reason: reason}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) job(id int64) store.Job {
	s.t.Helper()
	j, err := s.store.Job(s.ctx, id)
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}

func jobPath(id int64) string { return "/jobs/" + strconv.FormatInt(id, 10) }

// rows are the transitions that a job's page shows, as "id type" lines.
func rows(tab *chrometest.Tab) string {
	return chrometest.Eval[string](tab, `[...document.querySelectorAll('#transitions-rows tr')].map(r => r.id.slice(2) + ' ' + r.dataset.type).join('\n')`)
}

// recorded are a job's transitions as a page must show them, where no two
// renewals follow each other.
func (s *site) recorded(id int64) string {
	s.t.Helper()
	return value[string](s, `select string_agg(id || ' ' || type, E'\n' order by id) from fenceline.transitions where job_id = $1`, id)
}

// showsAll waits until a page shows every transition of a job once, in order.
func (s *site) showsAll(tab *chrometest.Tab, id int64) {
	s.t.Helper()
	want := s.recorded(id)
	newest := want[strings.LastIndexByte(want, '\n')+1:]
	tab.Until(`document.getElementById('t-` + strings.Fields(newest)[0] + `')`)
	if got := rows(tab); got != want {
		s.t.Errorf("the page shows\n%s\nrecorded is\n%s", got, want)
	}
}
