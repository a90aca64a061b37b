package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fenceline/fenceline/store/metrics"
	"github.com/fenceline/fenceline/worker"
)

var (
	slots     = prometheus.NewDesc("fenceline_slots", "Jobs that may run at once.", []string{"queue"}, nil)
	slotsUsed = prometheus.NewDesc("fenceline_slots_used", "Handlers that run now.", []string{"queue"}, nil)
	unsettled = prometheus.NewDesc("fenceline_attempts_unsettled", "Attempts whose outcome is not stored yet, running ones included.", []string{"queue"}, nil)
)

// Slots collects how a pool's queues stand.
func Slots(p *worker.Pool) prometheus.Collector { return &queues{pool: p} }

type queues struct {
	pool  *worker.Pool
	words metrics.Words
}

func (q *queues) Describe(to chan<- *prometheus.Desc) {
	to <- slots
	to <- slotsUsed
	to <- unsettled
}

func (q *queues) Collect(to chan<- prometheus.Metric) {
	all := map[string]worker.QueueStats{}
	for _, s := range q.pool.Queues() {
		label := q.words.Of(s.Queue)
		sum := all[label]
		all[label] = worker.QueueStats{Slots: sum.Slots + s.Slots, Running: sum.Running + s.Running, Unsettled: sum.Unsettled + s.Unsettled}
	}
	for label, s := range all {
		to <- prometheus.MustNewConstMetric(slots, prometheus.GaugeValue, float64(s.Slots), label)
		to <- prometheus.MustNewConstMetric(slotsUsed, prometheus.GaugeValue, float64(s.Running), label)
		to <- prometheus.MustNewConstMetric(unsettled, prometheus.GaugeValue, float64(s.Unsettled), label)
	}
}
