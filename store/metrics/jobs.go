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
	jobsFailed  = describe("fenceline_jobs_reads_failed_total", "Of those, readings that failed; fenceline_jobs and fenceline_queue_oldest_seconds are then missing.")
	jobsSeconds = describe("fenceline_jobs_read_seconds_total", "Time that the readings of the jobs took.")
)

// Jobs collects the figures of the whole database: at most one reading in
// [JobsEvery], of two bounded statements. Every process would show the same, so
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
	for _, d := range []*prometheus.Desc{jobs, oldest, jobsReads, jobsFailed, jobsSeconds} {
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
