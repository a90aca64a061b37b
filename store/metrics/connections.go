package metrics

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fenceline/fenceline/store"
)

var (
	connections     = describe("fenceline_db_connections", "Connections to the database, by pool and what they do.", "pool", "state")
	connectionsMax  = describe("fenceline_db_connections_max", "The most connections that the pool may open.", "pool")
	acquires        = describe("fenceline_db_acquires_total", "Times a connection was taken from the pool.", "pool")
	acquireWaits    = describe("fenceline_db_acquire_waits_total", "Of those, times that had to wait for one.", "pool")
	acquireSeconds  = describe("fenceline_db_acquire_seconds_total", "Time spent taking connections from the pool.", "pool")
	acquiresGivenUp = describe("fenceline_db_acquires_canceled_total", "Times somebody gave up before a connection was free.", "pool")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Connections collects how a store's two pools of connections are used. It
// asks the database nothing.
func Connections(s *store.Store) prometheus.Collector { return pools{s} }

type pools struct{ store *store.Store }

func (p pools) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(p, to) }

func (p pools) Collect(to chan<- prometheus.Metric) {
	general, renewals := p.store.Connections()
	for name, s := range map[string]*pgxpool.Stat{"general": general, "renewals": renewals} {
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{name}, labels...)...)
		}
		counter := func(d *prometheus.Desc, v float64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, name)
		}
		gauge(connections, float64(s.AcquiredConns()), "used")
		gauge(connections, float64(s.IdleConns()), "idle")
		gauge(connections, float64(s.ConstructingConns()), "opening")
		gauge(connectionsMax, float64(s.MaxConns()))
		counter(acquires, float64(s.AcquireCount()))
		counter(acquireWaits, float64(s.EmptyAcquireCount()))
		counter(acquireSeconds, s.AcquireDuration().Seconds())
		counter(acquiresGivenUp, float64(s.CanceledAcquireCount()))
	}
}
