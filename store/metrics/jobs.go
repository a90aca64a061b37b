package metrics

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fenceline/fenceline/store"
)

const (
	// JobsEvery is how long a reading of the jobs is shown again before the
	// database is asked anew, however often somebody scrapes.
	JobsEvery = 10 * time.Second
	// jobsPatience bounds a reading: a scrape must not hang with the database.
	jobsPatience = 3 * time.Second
)

var (
	jobs        = describe("fenceline_jobs", "Jobs by state, counted up to 10,000 each.", "state")
	oldest      = describe("fenceline_queue_oldest_seconds", "How long the oldest job at the head of its priority has been due, by queue with available jobs.", "queue")
	jobsReads   = describe("fenceline_jobs_reads_total", "Readings of the jobs from the database.")
	jobsFailed  = describe("fenceline_jobs_reads_failed_total", "Of those, readings that failed; fenceline_jobs, fenceline_queue_oldest_seconds and fenceline_verification_* are then missing.")
	checked     = describe("fenceline_verification_checked_total", "Transitions of the log that were held against the protocol, each once.")
	checkedAge  = describe("fenceline_verification_age_seconds", "How long ago the log was last looked at by whoever checks it; missing before the first time.")
	checkedLag  = describe("fenceline_verification_lag_seconds", "How far what is checked of the log is behind; missing before the first time.")
	violations  = describe("fenceline_verification_violations_total", "Violations of the protocol that were ever found in the log.")
	unsettled   = describe("fenceline_verification_violations_unsettled", "Of those that are kept, how many were found since an incident about them was resolved, counted up to 1,000.")
	accepted    = describe("fenceline_verification_stale_accepted_unsettled", "Of those, writes of attempts without authority that were accepted.")
	jobsSeconds = describe("fenceline_jobs_read_seconds_total", "Time that the readings of the jobs took.")
)

// Jobs collects the figures of the whole database: at most one reading in
// [JobsEvery], of three bounded statements. Every process would show the same, so
// one of a kind should: the console does.
func Jobs(s *store.Store) prometheus.Collector { return newJobs(s.Figures, time.Now) }

type jobsCollector struct {
	read  func(context.Context) (store.Figures, error)
	clock func() time.Time
	words Words

	mu            sync.Mutex // held while reading: one reading at a time
	at            time.Time
	figures       store.Figures
	err           error
	reads, failed int64
	took          time.Duration
}

func newJobs(read func(context.Context) (store.Figures, error), clock func() time.Time) *jobsCollector {
	return &jobsCollector{read: read, clock: clock}
}

func (c *jobsCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{jobs, oldest, checked, checkedAge, checkedLag, violations, unsettled, accepted, jobsReads, jobsFailed, jobsSeconds} {
		to <- d
	}
}

func (c *jobsCollector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	counter := func(d *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v)
	}
	counter(jobsReads, float64(c.reads))
	counter(jobsFailed, float64(c.failed))
	counter(jobsSeconds, c.took.Seconds())
	if c.err != nil {
		return
	}
	for state, n := range c.figures.States {
		to <- prometheus.MustNewConstMetric(jobs, prometheus.GaugeValue, float64(n.N), string(state))
	}
	for queue, due := range c.byQueue() {
		to <- prometheus.MustNewConstMetric(oldest, prometheus.GaugeValue, due.Seconds(), queue)
	}
	c.verified(to)
}

// verified tells how far the log was checked, by whichever process did.
func (c *jobsCollector) verified(to chan<- prometheus.Metric) {
	v := c.figures.Verified
	value := func(d *prometheus.Desc, kind prometheus.ValueType, n float64) {
		to <- prometheus.MustNewConstMetric(d, kind, n)
	}
	value(checked, prometheus.CounterValue, float64(v.N))
	value(violations, prometheus.CounterValue, float64(v.Violations))
	value(unsettled, prometheus.GaugeValue, float64(v.Unsettled))
	value(accepted, prometheus.GaugeValue, float64(v.Open))
	for d, at := range map[*prometheus.Desc]time.Time{checkedAge: v.At, checkedLag: v.Through} {
		if !at.IsZero() {
			value(d, prometheus.GaugeValue, max(0, c.figures.Now.Sub(at).Seconds()))
		}
	}
}

// refresh reads anew when the last reading is old.
func (c *jobsCollector) refresh() {
	if now := c.clock(); c.reads > 0 && now.Sub(c.at) < JobsEvery {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), jobsPatience)
	defer cancel()
	began := time.Now()
	c.figures, c.err = c.read(ctx)
	c.at, c.took, c.reads = c.clock(), c.took+time.Since(began), c.reads+1
	if c.err != nil {
		c.failed++
	}
}

// byQueue folds the queues beyond the bound into one, which is as old as the
// oldest of them.
func (c *jobsCollector) byQueue() map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, queue := range slices.Sorted(maps.Keys(c.figures.Oldest)) {
		label := c.words.Of(queue)
		all[label] = max(all[label], c.figures.Oldest[queue])
	}
	return all
}
