package metrics_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/metrics"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m, storetest.NoLeaks) }

func TestARealStoreIsShown(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t, store.Config{URL: storetest.OwnerURL(t), MaxConns: 3})
	if _, err := st.Enqueue(t.Context(), store.Request{Kind: "x", Queue: "mail"}); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.Connections(st), metrics.Jobs(st))
	const shown = `
# HELP fenceline_db_connections_max The most connections that the pool may open.
# TYPE fenceline_db_connections_max gauge
fenceline_db_connections_max{pool="general"} 3
fenceline_db_connections_max{pool="renewals"} 2
# HELP fenceline_jobs Jobs by state, counted up to 10,000 each.
# TYPE fenceline_jobs gauge
fenceline_jobs{state="available"} 1
fenceline_jobs{state="completed"} 0
fenceline_jobs{state="discarded"} 0
fenceline_jobs{state="retryable"} 0
fenceline_jobs{state="running"} 0
fenceline_jobs{state="scheduled"} 0
fenceline_jobs{state="terminated"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(shown), "fenceline_db_connections_max", "fenceline_jobs"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "fenceline_queue_oldest_seconds"); err != nil || n != 1 {
		t.Errorf("%d queues are shown: %v", n, err)
	}
}
