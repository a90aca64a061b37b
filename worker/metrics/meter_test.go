package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/metrics"
)

func TestMain(m *testing.M) { storetest.Main(m, func() error { return goleak.Find() }) }

const patience = 60 * time.Second

// eventually waits until a metric of the registry has a value, summed up over
// the labels that are not named.
func eventually(t *testing.T, registry *prometheus.Registry, name string, labels prometheus.Labels, want float64) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		got := sum(t, registry, name, labels)
		if got >= want {
			if got > want {
				t.Errorf("%s%v is %v, want %v", name, labels, got, want)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s%v stays %v, want %v", name, labels, got, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func sum(t *testing.T, registry *prometheus.Registry, name string, labels prometheus.Labels) (total float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
	metrics:
		for _, m := range family.GetMetric() {
			for _, pair := range m.GetLabel() {
				if want, named := labels[pair.GetName()]; named && want != pair.GetValue() {
					continue metrics
				}
			}
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return total
}

func TestWhatARealPoolDoesIsCounted(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	registry := prometheus.NewPedanticRegistry()
	pool := worker.New(st, worker.Config{
		Queues: map[string]int{"default": 3}, Lease: time.Second, Meter: metrics.NewMeter(registry), Poll: 50 * time.Millisecond,
	})
	registry.MustRegister(metrics.Slots(pool))
	worker.HandleNoop(pool)
	worker.Handle(pool, "bad", func(context.Context, worker.Job[struct{}]) (any, error) {
		return nil, worker.Permanent(errors.New("never"))
	})
	began, taken := make(chan struct{}), make(chan struct{})
	worker.Handle(pool, "stolen", func(context.Context, worker.Job[struct{}]) (any, error) {
		close(began)
		<-taken
		return nil, nil
	})
	slow := make(chan struct{})
	worker.Handle(pool, "slow", func(context.Context, worker.Job[struct{}]) (any, error) { <-slow; return nil, nil })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- pool.Run(ctx) }()

	enqueue := func(kind string) int64 {
		t.Helper()
		e, err := st.Enqueue(t.Context(), store.Request{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	for range 5 {
		enqueue("noop")
	}
	enqueue("bad")
	stolen := enqueue("stolen")
	<-began
	job, err := st.Job(t.Context(), stolen)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Terminate(t.Context(), store.OperatorParams{JobID: stolen, Seen: job.Revision, Actor: "test", Reason: "to be refused"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, registry, "fenceline_leases_lost_total", prometheus.Labels{"kind": "stolen", "cause": "terminated"}, 1)
	close(taken)
	enqueue("slow")

	eventually(t, registry, "fenceline_slots_used", nil, 1)
	eventually(t, registry, "fenceline_claims_total", nil, 8)
	eventually(t, registry, "fenceline_time_to_start_seconds", nil, 8)
	eventually(t, registry, "fenceline_attempts_ended_total", prometheus.Labels{"kind": "noop", "outcome": "completed"}, 5)
	eventually(t, registry, "fenceline_attempts_ended_total", prometheus.Labels{"kind": "bad", "outcome": "failed"}, 1)
	eventually(t, registry, "fenceline_attempts_ended_total", prometheus.Labels{"kind": "stolen", "outcome": "refused"}, 1)
	// Its renewal and its completion.
	eventually(t, registry, "fenceline_refusals_total", prometheus.Labels{"kind": "stolen", "reason": "terminated"}, 2)
	eventually(t, registry, "fenceline_slots", nil, 3)
	eventually(t, registry, "fenceline_pool_listening", nil, 1)
	for _, some := range []string{"fenceline_renewals_total", "fenceline_renewal_slack_ratio", "fenceline_sweeps_total", "fenceline_claim_calls_total"} {
		atLeastOne(t, registry, some)
	}
	cutListener(t, url)
	eventually(t, registry, "fenceline_pool_listener_connections_total", nil, 2)
	close(slow)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	eventually(t, registry, "fenceline_attempts_unsettled", nil, 0)
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("names that Prometheus' own linter does not like: %v %v", problems, err)
	}
}

func atLeastOne(t *testing.T, registry *prometheus.Registry, name string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for sum(t, registry, name, nil) < 1 {
		if time.Now().After(deadline) {
			t.Fatalf("%s stays 0", name)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Nothing but words from the pool's own settings is ever a label.
func TestHoweverManyKindsThereAreTheSeriesAreBounded(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	m := metrics.NewMeter(registry)
	for n := range 2000 {
		kind, queue := fmt.Sprint("kind ", n), fmt.Sprint("queue ", n)
		m.Started(queue, kind, time.Second)
		m.Ended(queue, kind, worker.EndedCompleted, time.Second)
		m.Refused(queue, kind, store.OpComplete, store.ReasonSuperseded)
		m.Renewed(queue, kind, .5)
		m.Lost(queue, kind, worker.ErrLeaseLost)
		m.Asked(queue, 1, time.Second, nil)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if n := len(family.GetMetric()); n > 51*2 {
			t.Errorf("%s has %d series", family.GetName(), n)
		}
		if total := sum(t, registry, family.GetName(), prometheus.Labels{"kind": "other", "queue": "other"}); strings.HasSuffix(family.GetName(), "claims_total") && total != 1950 {
			t.Errorf("%s counts %v under other", family.GetName(), total)
		}
	}
}

func BenchmarkCountingOneJob(b *testing.B) {
	m := metrics.NewMeter(prometheus.NewRegistry())
	b.ReportAllocs()
	for b.Loop() {
		m.Started("default", "noop", time.Millisecond)
		m.Ended("default", "noop", worker.EndedCompleted, time.Millisecond)
	}
}

func BenchmarkScrapeOfABusyPool(b *testing.B) {
	registry := prometheus.NewRegistry()
	m := metrics.NewMeter(registry)
	for n := range 60 {
		kind := fmt.Sprint("kind ", n)
		m.Started("default", kind, time.Millisecond)
		m.Ended("default", kind, worker.EndedCompleted, time.Millisecond)
	}
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
