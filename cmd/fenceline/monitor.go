package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	storemetrics "github.com/fenceline/fenceline/store/metrics"
	"github.com/fenceline/fenceline/web"
	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/metrics"
)

// newRegistry holds what every process shows: its version, the Go runtime, the
// process and its connections to the database.
func newRegistry(s *session) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fenceline_build_info", Help: "Always 1; the label is the program's version.",
			ConstLabels: prometheus.Labels{"version": versionOf()},
		}, func() float64 { return 1 }),
		storemetrics.Connections(s.Store),
	)
	return registry
}

// measured makes a pool whose doings are counted and traced.
func (p pool) measured(s *session, cfg worker.Config, registry *prometheus.Registry, sent spans) (*worker.Pool, error) {
	cfg.Meter, cfg.Tracer = metrics.NewMeter(registry), sent.tracer
	w, err := p.build(s.Store, cfg)
	if err != nil {
		return nil, err
	}
	registry.MustRegister(metrics.Slots(w))
	return w, nil
}

// monitor is what a process without a console shows of itself, when asked to.
type monitor struct {
	MetricsListen string `name:"metrics-listen" env:"FENCELINE_METRICS_LISTEN" placeholder:"HOST:PORT" group:"Monitoring" help:"Where /metrics, /healthz and /readyz are served, as in 127.0.0.1:9464. Nothing can be changed through it; the names of kinds and queues are shown to whoever reaches it."`
}

// listen takes the address before anything is started; nil means none is named.
func (m monitor) listen(ctx context.Context) (net.Listener, error) {
	if m.MetricsListen == "" {
		return nil, nil
	}
	if _, _, err := net.SplitHostPort(m.MetricsListen); err != nil {
		return nil, usagef("--metrics-listen: %q is not HOST:PORT, as in 127.0.0.1:9464", m.MetricsListen)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", m.MetricsListen)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen: %w", err)
	}
	return listener, nil
}

// show serves the probes until the returned function is called, which waits for
// the answers under way.
func show(ctx context.Context, a *app, listener net.Listener, probes *web.Probes) (stop func()) {
	if listener == nil {
		return func() {}
	}
	probes.Closing = ctx.Done()
	server := &http.Server{
		Handler: probes.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("the figures are not served any more", "error", err)
		}
	}()
	a.log.Info("serving figures", "url", "http://"+listener.Addr().String()+"/metrics")
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		<-done
	}
}
