package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
)

// Probes answers what machines ask of a process: whether it lives, whether it
// can serve, and its figures. The console has these routes by itself; a process
// without one serves [Probes.Handler].
type Probes struct {
	Store   *store.Store        // required
	Hub     *events.Hub         // nil for a process without a feed
	Metrics prometheus.Gatherer // nil: there are no figures
	Version string
	Closing <-chan struct{} // closed when the process begins to end; may be nil

	started time.Time
}

// readyPatience bounds what /readyz waits for: a probe that hangs says nothing.
const readyPatience = 2 * time.Second

// readiness is the answer of /readyz.
type readiness struct {
	Ready    bool      `json:"ready"`
	Reasons  []string  `json:"reasons"` // why it is not ready, or serves less than it could
	Database string    `json:"database"`
	Pool     poolJSON  `json:"pool"`
	Feed     *feedJSON `json:"feed,omitempty"`
	Version  string    `json:"version"`
	UptimeS  int64     `json:"uptime_s"`
}

type poolJSON struct {
	Used int32 `json:"used"`
	Max  int32 `json:"max"`
}

type feedJSON struct {
	Live     bool   `json:"live"`
	Degraded string `json:"degraded,omitempty"`
	BehindMS int64  `json:"behind_ms"`
	Watchers int    `json:"watchers"`
}

// Handler serves /healthz, /readyz and, when there are figures, /metrics.
func (p *Probes) Handler() http.Handler {
	p.started = time.Now()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+routeHealth, p.health)
	mux.HandleFunc("GET "+routeReady, p.ready)
	if p.Metrics != nil {
		mux.Handle("GET "+routeMetrics, p.figures())
	}
	return mux
}

// health says that the process lives and answers, whatever the database does.
func (p *Probes) health(w http.ResponseWriter, _ *http.Request) { sendText(w, http.StatusOK, "ok") }

// ready answers 200 while requests can be served, else 503. A feed that is not
// live is told as a reason but does not make the process unready: pages are
// served, and streams fall back to asking.
func (p *Probes) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyPatience)
	defer cancel()
	answer := p.readiness(ctx)
	status := http.StatusOK
	if !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	if prefersText(r) {
		sendText(w, status, answer.text())
		return
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(answer); err != nil { // plain words and numbers: it cannot fail
		sendText(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	send(w, status, b.Bytes())
}

func (p *Probes) readiness(ctx context.Context) readiness {
	r := readiness{Ready: true, Reasons: []string{}, Database: "ok", Version: p.Version, UptimeS: int64(time.Since(p.started).Seconds())}
	unready := func(reason string) { r.Ready, r.Reasons = false, append(r.Reasons, reason) }
	switch err := p.Store.Ready(ctx); {
	case err == nil:
	case errors.Is(err, store.ErrSchema):
		r.Database = "schema"
		unready(err.Error())
	case errors.Is(err, store.ErrBusy):
		r.Database = "busy"
		unready(err.Error())
	default:
		r.Database = "unreachable"
		unready("the database does not answer")
	}
	select {
	case <-p.Closing:
		unready("the process is shutting down")
	default:
	}
	general, _ := p.Store.Connections()
	r.Pool = poolJSON{general.AcquiredConns(), general.MaxConns()}
	if p.Hub != nil {
		status := p.Hub.Status()
		r.Feed = &feedJSON{Live: status.Live, Degraded: string(status.Degraded), BehindMS: status.Behind.Milliseconds(), Watchers: status.Watchers}
		if !status.Live {
			r.Reasons = append(r.Reasons, "the feed is not live: "+string(status.Degraded))
		}
	}
	return r
}

// text is the answer in one line, for people and for probes that show it.
func (r readiness) text() string {
	word := "ready"
	if !r.Ready {
		word = "not ready"
	}
	if len(r.Reasons) == 0 {
		return word
	}
	return word + ": " + strings.Join(r.Reasons, "; ")
}

// prefersText is whether a request names plain text before JSON.
func prefersText(r *http.Request) bool {
	for _, accepted := range strings.Split(r.Header.Get("Accept"), ",") {
		switch kind, _, _ := strings.Cut(strings.TrimSpace(accepted), ";"); kind {
		case "text/plain":
			return true
		case "application/json", "*/*":
			return false
		}
	}
	return false
}

func sendText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	send(w, status, []byte(text+"\n"))
}

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body)
}

// figures serves what is registered. Two scrapes may be under way at once; what
// of the figures cannot be had is left out.
func (p *Probes) figures() http.Handler {
	return promhttp.HandlerFor(p.Metrics, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 2, DisableCompression: true,
	})
}
