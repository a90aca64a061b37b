package web

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// health says that the process lives and answers, whatever the database does.
func (s *Server) health(c echo.Context) error {
	return c.String(http.StatusOK, "ok\n")
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready    bool     `json:"ready"`
	Reasons  []string `json:"reasons"` // why it is not ready, or serves less than it could
	Database string   `json:"database"`
	Feed     feedJSON `json:"feed"`
	Version  string   `json:"version"`
	UptimeS  int64    `json:"uptime_s"`
}

type feedJSON struct {
	Live     bool   `json:"live"`
	Degraded string `json:"degraded,omitempty"`
	BehindMS int64  `json:"behind_ms"`
	Watchers int    `json:"watchers"`
}

// ready answers 200 while requests can be served. A feed that is not live is
// told as a reason but does not make the process unready: pages are served,
// and streams fall back to asking.
func (s *Server) ready(c echo.Context) error {
	r := readiness{Ready: true, Reasons: []string{}, Database: "ok", Version: s.cfg.Version, UptimeS: int64(time.Since(s.started).Seconds())}
	ctx, cancel := context.WithTimeout(c.Request().Context(), 2*time.Second)
	defer cancel()
	if _, err := s.cfg.Store.Clock(ctx); err != nil {
		r.Ready, r.Database = false, "unreachable"
		r.Reasons = append(r.Reasons, "the database does not answer")
	}
	select {
	case <-s.closing:
		r.Ready = false
		r.Reasons = append(r.Reasons, "the process is shutting down")
	default:
	}
	status := s.cfg.Hub.Status()
	r.Feed = feedJSON{Live: status.Live, Degraded: string(status.Degraded), BehindMS: status.Behind.Milliseconds(), Watchers: status.Watchers}
	if !status.Live {
		r.Reasons = append(r.Reasons, "the feed is not live: "+string(status.Degraded))
	}
	if !r.Ready {
		return sendJSON(c, http.StatusServiceUnavailable, r)
	}
	return sendJSON(c, http.StatusOK, r)
}
