// Package metrics shows a store to Prometheus: its connections, which every
// process has, and the jobs, which are the database's and therefore belong to
// one process of a kind. Labels are bounded: see [Words].
package metrics
