// Package metrics shows a pool to Prometheus.
//
//	registry := prometheus.NewRegistry()
//	pool := worker.New(st, worker.Config{Meter: metrics.NewMeter(registry)})
//	registry.MustRegister(metrics.Slots(pool))
//
// Counting costs a job less than a microsecond, and the database nothing:
// nothing is asked of it. Labels are kinds and queues, of which the first 50
// keep their names.
package metrics
