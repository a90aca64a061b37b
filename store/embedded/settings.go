package embedded

import (
	"maps"
	"slices"
)

// settings suit a job queue on a small machine: many short writes, a table that
// is updated all the time, no long reports.
func (c Config) settings(runDir string) map[string]string {
	all := map[string]string{
		"max_connections":      "200",
		"shared_buffers":       "256MB",
		"effective_cache_size": "1GB",
		"work_mem":             "8MB",
		"maintenance_work_mem": "64MB",

		"fsync":              "on",
		"full_page_writes":   "on",
		"synchronous_commit": "on",
		"wal_buffers":        "16MB",
		"min_wal_size":       "256MB",
		"max_wal_size":       "2GB",
		"checkpoint_timeout": "15min",

		// Dead versions of job rows pile up in seconds, not minutes.
		"autovacuum_naptime":             "10s",
		"autovacuum_vacuum_cost_limit":   "2000",
		"autovacuum_vacuum_scale_factor": "0.05",

		"random_page_cost": "1.1",
		"jit":              "off",
		// Parallel plans need more shared memory than a container grants by
		// default, and fail outright when it runs out.
		"max_parallel_workers_per_gather": "0",
		"huge_pages":                      "off",

		"timezone":     "UTC",
		"log_timezone": "UTC",
		// Errors of statements are told to whoever sent them; in the log they
		// would carry users' values.
		"log_min_messages":            "log",
		"log_checkpoints":             "off",
		"log_autovacuum_min_duration": "-1",
		"log_line_prefix":             "%m [%p] ",
	}
	maps.Copy(all, c.Settings)
	// These are what the launcher itself stands on; nobody may change them.
	maps.Copy(all, map[string]string{
		"listen_addresses":        "",
		"port":                    socketPort,
		"unix_socket_directories": runDir,
		"unix_socket_permissions": "0700",
		"logging_collector":       "off",
	})
	return all
}

// arguments are the server's, in a stable order.
func (c Config) arguments(dataDir, runDir string) []string {
	args := []string{"-D", dataDir}
	all := c.settings(runDir)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, "-c", name+"="+all[name])
	}
	return args
}
