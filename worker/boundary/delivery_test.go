package boundary

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/views"
)

// receiver takes messages by the document's statement and remembers each
// delivery; one whose body is "refuse" it never takes.
type receiver struct {
	*httptest.Server
	*reports
	mu   sync.Mutex
	keys []string // of every delivery that was taken, repeats included
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{reports: newReports(t)}
	r.Server = httptest.NewServer(http.HandlerFunc(r.take))
	t.Cleanup(r.Server.Close)
	return r
}

func (r *receiver) take(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	key := req.Header.Get("Idempotency-Key")
	switch {
	case err != nil || key == "":
		http.Error(w, "no key or no body", http.StatusBadRequest)
		return
	case string(body) == "refuse":
		http.Error(w, "not this one", http.StatusTeapot)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.Exec(req.Context(), passage(r.t, "sql", "-- receive:"), key, string(body)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.keys = append(r.keys, key)
}

func (r *receiver) deliveries() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.keys)
}

// rows counts what the receiver keeps.
func (r *receiver) rows() (n int) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.QueryRow(r.t.Context(), `select count(*) from received`).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// order completes a job whose result writes messages, and returns their ids.
func (j *jobs) order(bodies ...string) (parent int64, ups []int64) {
	j.t.Helper()
	made, err := j.Enqueue(j.t.Context(), store.Request{Kind: "report"})
	if err != nil {
		j.t.Fatal(err)
	}
	var follow []store.FollowUp
	for _, body := range bodies {
		args, _ := json.Marshal(message{body})
		follow = append(follow, store.FollowUp{Name: "mail " + body, Request: store.Request{Kind: "mail", Queue: "mail", Args: args}})
	}
	if err := j.complete("orders", j.claim("orders"), `{}`, follow...); err != nil {
		j.t.Fatal(err)
	}
	for _, c := range j.view(made.ID).Children {
		ups = append(ups, c.ID)
	}
	if len(ups) != len(bodies) {
		j.t.Fatalf("%d follow-ups for %d messages", len(ups), len(bodies))
	}
	return made.ID, ups
}

func (j *jobs) view(id int64) store.JobView {
	j.t.Helper()
	v, err := j.JobView(j.t.Context(), id)
	if err != nil {
		j.t.Fatal(err)
	}
	return v
}

// send runs a sender in this process until the fact holds.
func (j *jobs) send(s sender, what string, holds func() bool) {
	j.t.Helper()
	ctx, stop := context.WithCancel(j.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.pool(j.Store, slog.New(slog.NewTextHandler(j.t.Output(), nil))).Run(ctx); err != nil {
			j.t.Error(err)
		}
	})
	defer running.Wait()
	defer stop()
	storetest.Await(j.t, what, holds)
}

func TestADeliveryRepeatedAfterACrashIsTakenOnce(t *testing.T) {
	t.Parallel()
	j, r := newJobs(t), newReceiver(t)
	parent, mails := j.order("your report is ready")
	mail := mails[0]

	first, err := sender{Database: j.url, Receiver: r.URL, Hang: true}.command()
	if err != nil {
		t.Fatal(err)
	}
	first.Stderr = t.Output()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	kill := sync.OnceFunc(func() { first.Process.Kill(); first.Wait() })
	t.Cleanup(kill)
	storetest.Await(t, "the message was taken", func() bool { return len(r.deliveries()) == 1 })
	kill()
	if j.view(mail).Job.State != store.Running || len(j.view(parent).Twice) != 0 {
		t.Errorf("before anybody sends again: %s, %v", j.view(mail).Job.State, j.view(parent).Twice)
	}
	j.lapse(mail)
	j.send(sender{Receiver: r.URL}, "the message was sent again", func() bool { return j.view(mail).Job.State == store.Completed })

	if keys := r.deliveries(); len(keys) != 2 || keys[0] != keys[1] {
		t.Errorf("delivered with the keys %q, want one key twice", keys)
	}
	if n := r.rows(); n != 1 {
		t.Errorf("the receiver keeps %d messages", n)
	}
	if story := views.StoryText(j.view(mail)); !strings.Contains(story, "may have been delivered twice") {
		t.Errorf("the message's page does not say that it may have been delivered twice: %s", story)
	}
	if v := j.view(parent); !slices.Equal(v.Twice, []int64{mail}) {
		t.Errorf("the parent's page says it of %v, want %d", v.Twice, mail)
	}
	j.verified()
}

func TestAMessageThatAlwaysFailsDoesNotBlockTheOthers(t *testing.T) {
	t.Parallel()
	j, r := newJobs(t), newReceiver(t)
	parent, mails := j.order("refuse", "the second", "the third")
	j.send(sender{Receiver: r.URL}, "the others were sent", func() bool {
		return j.view(mails[1]).Job.State == store.Completed && j.view(mails[2]).Job.State == store.Completed
	})
	if v := j.view(mails[0]); v.Job.State != store.Retryable || v.Job.Attempts != 1 {
		t.Errorf("the one that fails is %s after %d attempts", v.Job.State, v.Job.Attempts)
	}
	if n := r.rows(); n != 2 {
		t.Errorf("the receiver keeps %d messages, want 2", n)
	}
	if v := j.view(parent); len(v.Twice) != 0 {
		t.Errorf("%v are said to be delivered twice", v.Twice)
	}
}
