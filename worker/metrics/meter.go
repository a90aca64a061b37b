package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/metrics"
	"github.com/fenceline/fenceline/worker"
)

// Meter counts what a pool does. It belongs to one pool.
type Meter struct {
	queues, kinds metrics.Words

	asked, claims, ended, refusals, lost, renewals *prometheus.CounterVec
	sweeps, swept, sweepFailed, sweepSeconds       *prometheus.CounterVec
	complaints                                     *prometheus.CounterVec
	askSeconds                                     prometheus.Histogram
	waited, took                                   *prometheus.HistogramVec
	slack                                          prometheus.Histogram
	connected                                      prometheus.Gauge
	connections                                    prometheus.Counter
}

var _ worker.Meter = (*Meter)(nil)

// From a millisecond to five minutes, about three to a factor of ten.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// NewMeter registers a pool's metrics. It panics when the registerer holds them
// already.
func NewMeter(to prometheus.Registerer) *Meter {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		to.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		to.MustRegister(h)
		return h
	}
	m := &Meter{
		asked:        counter("fenceline_claim_calls_total", "Calls for jobs, by what came of them: jobs, none or error.", "queue", "outcome"),
		claims:       counter("fenceline_claims_total", "Attempts begun.", "queue", "kind"),
		ended:        counter("fenceline_attempts_ended_total", "Attempts settled: completed, failed, released, refused or abandoned.", "queue", "kind", "outcome"),
		refusals:     counter("fenceline_refusals_total", "Writes that the store refused as stale, renewals included.", "kind", "op", "reason"),
		lost:         counter("fenceline_leases_lost_total", "Attempts told to stop: their lease was lost, or their job terminated.", "kind", "cause"),
		renewals:     counter("fenceline_renewals_total", "Renewals accepted.", "kind"),
		sweeps:       counter("fenceline_sweeps_total", "Looks for expired leases, due jobs and missing partitions.", "sweep"),
		swept:        counter("fenceline_swept_total", "What they found: attempts expired, jobs promoted, partitions made.", "sweep"),
		sweepFailed:  counter("fenceline_sweeps_failed_total", "Looks that failed.", "sweep"),
		sweepSeconds: counter("fenceline_sweep_seconds_total", "Time that the looks took.", "sweep"),
		complaints:   counter("fenceline_database_errors_total", "Calls of the store that failed and are repeated.", "verb"),
		askSeconds:   histogram("fenceline_claim_seconds", "How long calls for jobs took.", seconds).WithLabelValues().(prometheus.Histogram),
		waited:       histogram("fenceline_time_to_start_seconds", "From when a job was due to its claim, on the database's clock.", seconds, "queue"),
		took:         histogram("fenceline_attempt_seconds", "From an attempt's claim until its outcome was settled.", seconds, "kind"),
		slack: histogram("fenceline_renewal_slack_ratio", "Part of a lease's trusted time that was left when its renewal was answered.",
			[]float64{0, .1, .2, .3, .4, .5, .6, .7}).WithLabelValues().(prometheus.Histogram),
	}
	m.connected = prometheus.NewGauge(prometheus.GaugeOpts{Name: "fenceline_pool_listening", Help: "1 while the pool's own listener is connected; a pool that is woken by a console's feed has none."})
	m.connections = prometheus.NewCounter(prometheus.CounterOpts{Name: "fenceline_pool_listener_connections_total", Help: "Connections of the pool's own listener; the first is no reconnect."})
	to.MustRegister(m.connected, m.connections)
	// A rate needs a zero to begin with, where the words are known.
	for _, sweep := range []worker.Sweep{worker.SweepExpire, worker.SweepPromote, worker.SweepPartitions} {
		for _, c := range []*prometheus.CounterVec{m.sweeps, m.swept, m.sweepFailed, m.sweepSeconds} {
			c.WithLabelValues(string(sweep))
		}
	}
	return m
}

// Asked counts a call for jobs.
func (m *Meter) Asked(queue string, claimed int, took time.Duration, err error) {
	outcome := "none"
	switch {
	case err != nil:
		outcome = "error"
	case claimed > 0:
		outcome = "jobs"
	}
	m.asked.WithLabelValues(m.queues.Of(queue), outcome).Inc()
	m.askSeconds.Observe(took.Seconds())
}

// Started counts a claim.
func (m *Meter) Started(queue, kind string, waited time.Duration) {
	queue = m.queues.Of(queue)
	m.claims.WithLabelValues(queue, m.kinds.Of(kind)).Inc()
	m.waited.WithLabelValues(queue).Observe(waited.Seconds())
}

// Ended counts an outcome.
func (m *Meter) Ended(queue, kind string, how worker.Ending, took time.Duration) {
	kind = m.kinds.Of(kind)
	m.ended.WithLabelValues(m.queues.Of(queue), kind, string(how)).Inc()
	m.took.WithLabelValues(kind).Observe(took.Seconds())
}

// Refused counts a refusal.
func (m *Meter) Refused(_, kind string, op store.Op, reason store.Reason) {
	m.refusals.WithLabelValues(m.kinds.Of(kind), string(op), string(reason)).Inc()
}

// Renewed counts a renewal.
func (m *Meter) Renewed(_, kind string, slack float64) {
	m.renewals.WithLabelValues(m.kinds.Of(kind)).Inc()
	m.slack.Observe(slack)
}

// Lost counts an attempt that was told to stop.
func (m *Meter) Lost(_, kind string, cause error) {
	word := "lease_lost"
	if errors.Is(cause, worker.ErrTerminated) {
		word = "terminated"
	}
	m.lost.WithLabelValues(m.kinds.Of(kind), word).Inc()
}

// Swept counts a look.
func (m *Meter) Swept(sweep worker.Sweep, n int, took time.Duration, err error) {
	m.sweeps.WithLabelValues(string(sweep)).Inc()
	m.swept.WithLabelValues(string(sweep)).Add(float64(n))
	m.sweepSeconds.WithLabelValues(string(sweep)).Add(took.Seconds())
	if err != nil {
		m.sweepFailed.WithLabelValues(string(sweep)).Inc()
	}
}

// Listening notes the pool's own listener.
func (m *Meter) Listening(connected bool) {
	if !connected {
		m.connected.Set(0)
		return
	}
	m.connected.Set(1)
	m.connections.Inc()
}

// Complained counts a call that failed.
func (m *Meter) Complained(verb string) { m.complaints.WithLabelValues(verb).Inc() }
