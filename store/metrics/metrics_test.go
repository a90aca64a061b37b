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
		States: map[store.State]store.Count{store.Available: {N: 3}, store.Completed: {N: 10000, Capped: true}},
		Oldest: map[string]time.Duration{"mail": 90 * time.Second},
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
`
	for range 20 {
		if err := testutil.GatherAndCompare(registry, strings.NewReader(shown), "fenceline_jobs", "fenceline_queue_oldest_seconds"); err != nil {
			t.Fatal(err)
		}
	}
	r.now = r.now.Add(JobsEvery - 1)
	if registry.Gather(); r.calls != 1 {
		t.Errorf("the database was asked %d times in ten seconds", r.calls)
	}
	r.now, r.err = r.now.Add(1), errors.New("the database does not answer")
	if n, err := testutil.GatherAndCount(registry, "fenceline_jobs", "fenceline_queue_oldest_seconds"); err != nil || n != 0 || r.calls != 2 {
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
