package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/fenceline/fenceline/store"
)

func TestALabelHoldsFiftyWordsAndTheRestShareOne(t *testing.T) {
	var w Words
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				w.Of(fmt.Sprint("kind ", (n+i*25)%200))
			}
		})
	}
	all.Wait()
	kept := 0
	for n := range 200 {
		if word := fmt.Sprint("kind ", n); w.Of(word) == word {
			kept++
		} else if w.Of(word) != Other {
			t.Errorf("%s is shown as %s", word, w.Of(word))
		}
	}
	if kept != maxWords {
		t.Errorf("%d words are kept", kept)
	}
	var long Words
	if got := long.Of(strings.Repeat("x", maxBytes+1)); got != Other || long.Of("x") != "x" {
		t.Errorf("a long word is shown as %d bytes", len(got))
	}
}

// reading is a database whose answers are counted.
type reading struct {
	calls  int
	answer store.Figures
	err    error
	now    time.Time
}

func (r *reading) read(ctx context.Context) (store.Figures, error) {
	if deadline, bounded := ctx.Deadline(); !bounded || time.Until(deadline) > jobsPatience {
		return store.Figures{}, errors.New("the reading is not bounded")
	}
	r.calls++
	return r.answer, r.err
}

func TestTheJobsAreReadOnceInTenSecondsHoweverOftenTheyAreAskedFor(t *testing.T) {
	r := &reading{now: time.Unix(1e9, 0), answer: store.Figures{
		States:   map[store.State]store.Count{store.Available: {N: 3}, store.Completed: {N: 10000, Capped: true}},
		Oldest:   map[string]time.Duration{"mail": 90 * time.Second},
		Verified: store.Verification{N: 7000, Violations: 5, Unsettled: 3, Open: 2, At: time.Unix(1e9-4, 0), Through: time.Unix(1e9-61, 0)}, Now: time.Unix(1e9, 0),
	}}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newJobs(r.read, func() time.Time { return r.now }))
	const shown = `
# HELP fenceline_jobs Jobs by state, counted up to 10,000 each.
# TYPE fenceline_jobs gauge
fenceline_jobs{state="available"} 3
fenceline_jobs{state="completed"} 10000
# HELP fenceline_queue_oldest_seconds How long the oldest job at the head of its priority has been due, by queue with available jobs.
# TYPE fenceline_queue_oldest_seconds gauge
fenceline_queue_oldest_seconds{queue="mail"} 90
# HELP fenceline_verification_age_seconds How long ago the log was last looked at by whoever checks it; missing before the first time.
# TYPE fenceline_verification_age_seconds gauge
fenceline_verification_age_seconds 4
# HELP fenceline_verification_checked_total Transitions of the log that were held against the protocol, each once.
# TYPE fenceline_verification_checked_total counter
fenceline_verification_checked_total 7000
# HELP fenceline_verification_lag_seconds How far what is checked of the log is behind; missing before the first time.
# TYPE fenceline_verification_lag_seconds gauge
fenceline_verification_lag_seconds 61
# HELP fenceline_verification_stale_accepted_unsettled Of those, writes of attempts without authority that were accepted.
# TYPE fenceline_verification_stale_accepted_unsettled gauge
fenceline_verification_stale_accepted_unsettled 2
# HELP fenceline_verification_violations_total Violations of the protocol that were ever found in the log.
# TYPE fenceline_verification_violations_total counter
fenceline_verification_violations_total 5
# HELP fenceline_verification_violations_unsettled Of those that are kept, how many were found since an incident about them was resolved, counted up to 1,000.
# TYPE fenceline_verification_violations_unsettled gauge
fenceline_verification_violations_unsettled 3
`
	names := []string{"fenceline_jobs", "fenceline_queue_oldest_seconds", "fenceline_verification_age_seconds", "fenceline_verification_checked_total", "fenceline_verification_lag_seconds",
		"fenceline_verification_stale_accepted_unsettled", "fenceline_verification_violations_total", "fenceline_verification_violations_unsettled"}
	for range 20 {
		if err := testutil.GatherAndCompare(registry, strings.NewReader(shown), names...); err != nil {
			t.Fatal(err)
		}
	}
	r.now = r.now.Add(JobsEvery - 1)
	if registry.Gather(); r.calls != 1 {
		t.Errorf("the database was asked %d times in ten seconds", r.calls)
	}
	r.now, r.err = r.now.Add(1), errors.New("the database does not answer")
	if n, err := testutil.GatherAndCount(registry, names...); err != nil || n != 0 || r.calls != 2 {
		t.Errorf("after a failed reading %d old figures are shown (%v), after %d readings", n, err, r.calls)
	}
	if n, err := testutil.GatherAndCount(registry, "fenceline_jobs_reads_failed_total"); err != nil || n != 1 {
		t.Errorf("the failure is not shown: %v", err)
	}
}

func TestQueuesBeyondTheBoundAreAsOldAsTheOldestOfThem(t *testing.T) {
	c := newJobs(nil, nil)
	c.figures.Oldest = map[string]time.Duration{}
	for n := range 80 {
		c.figures.Oldest[fmt.Sprintf("q%03d", n)] = time.Duration(n) * time.Second
	}
	all := c.byQueue()
	if len(all) != maxWords+1 || all[Other] != 79*time.Second || all["q010"] != 10*time.Second {
		t.Errorf("%v", all)
	}
}
