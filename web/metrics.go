package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store/metrics"
)

// traffic counts requests. A stream is counted when it ends, and its length is
// in no histogram: it is how long somebody looked.
type traffic struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// measure registers what the console shows to Prometheus: its requests and
// streams, the feed, and the jobs.
func (s *Server) measure() {
	to := s.cfg.Metrics
	if to == nil {
		return
	}
	s.traffic = &traffic{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fenceline_http_requests_total", Help: "Requests answered, by route."}, []string{"route", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fenceline_http_request_seconds", Help: "How long answers took, streams left out.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"route"}),
	}
	to.MustRegister(s.traffic.requests, s.traffic.seconds, &feed{s.cfg.Hub},
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fenceline_streams_open", Help: "Live streams of browsers and programs."},
			func() float64 { return float64(s.streams.Load()) }),
		metrics.Jobs(s.cfg.Store))
}

// count is told of each answer. Everything in its labels comes from the table
// of routes, never from a request.
func (t *traffic) count(c echo.Context, stream bool, status int, took time.Duration) {
	if t == nil {
		return
	}
	route, method := c.Path(), c.Request().Method
	if route == "" {
		route = "none"
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		method = metrics.Other
	}
	t.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	if !stream {
		t.seconds.WithLabelValues(route).Observe(took.Seconds())
	}
}

var (
	feedLive          = prometheus.NewDesc("fenceline_feed_live", "1 while notifications arrive and are read.", nil, nil)
	feedLag           = prometheus.NewDesc("fenceline_feed_lag_seconds", "How long the feed's resume position has not moved; 0 while it moves.", nil, nil)
	feedSubscriptions = prometheus.NewDesc("fenceline_feed_subscriptions", "Subscriptions of the hub.", nil, nil)
	feedWatched       = prometheus.NewDesc("fenceline_feed_jobs_watched", "Jobs that somebody watches.", nil, nil)
	feedConnections   = prometheus.NewDesc("fenceline_feed_listener_connections_total", "Listening connections made; the first is no reconnect.", nil, nil)
)

// feed collects how the hub does, without asking the database.
type feed struct{ hub *events.Hub }

func (f *feed) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(f, to) }

func (f *feed) Collect(to chan<- prometheus.Metric) {
	status := f.hub.Status()
	live := 0.0
	if status.Live {
		live = 1
	}
	for _, g := range []struct {
		desc  *prometheus.Desc
		value float64
	}{
		{feedLive, live}, {feedLag, status.Behind.Seconds()},
		{feedSubscriptions, float64(status.Subscriptions)}, {feedWatched, float64(status.Watchers)},
	} {
		to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value)
	}
	to <- prometheus.MustNewConstMetric(feedConnections, prometheus.CounterValue, float64(status.Connections))
}
