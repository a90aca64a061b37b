package web

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// What keeps somebody from something, in the words of the audit.
const (
	keptByRole   = "role"
	keptByRight  = "right"
	keptByQueue  = "queue"
	keptByOrigin = "cross_origin"
)

// How much of what is refused to one person the audit is given in a minute, by
// each process: of a route and a reason the first, the tenth, the hundredth and
// so on, and no more than mostRefusals altogether. The log has every one.
const (
	refusalSpan  = time.Minute
	mostRefusals = 20

	recordPatience = 5 * time.Second // the answer waits for the record
)

// refusals counts what was refused in this minute.
type refusals struct {
	now func() time.Time

	mu      sync.Mutex
	began   time.Time
	times   map[refusal]int
	entries map[string]int // by actor
}

type refusal struct{ actor, route, why string }

// count tells the how manieth of this minute a refusal is, and whether it
// belongs into the audit.
func (r *refusals) count(one refusal) (times int, recorded bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.times == nil || now.Sub(r.began) >= refusalSpan {
		r.began, r.times, r.entries = now, map[refusal]int{}, map[string]int{}
	}
	r.times[one]++
	times = r.times[one]
	rest := times
	for rest%10 == 0 {
		rest /= 10
	}
	if rest != 1 || r.entries[one.actor] >= mostRefusals {
		return times, false
	}
	r.entries[one.actor]++
	return times, true
}

// recordRefusal keeps in the audit that somebody known was refused. Who is
// nobody in particular stands in the log alone, or anybody could fill the table.
func (s *Server) recordRefusal(c echo.Context, p *problem) {
	if p.Kept == "" || s.cfg.SignIn == nil {
		return
	}
	// A client that has left already is recorded too.
	asked := c.Request()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(asked.Context()), recordPatience)
	defer cancel()
	defer c.SetRequest(asked)
	c.SetRequest(asked.WithContext(ctx))
	who := s.who(c)
	if who.name == "" { // refused before anybody asked
		who, _ = s.proven(c)
	}
	if who.name == "" {
		return
	}
	route := c.Request().Method + " " + cmp.Or(c.Path(), "none")
	times, recorded := s.refusals.count(refusal{who.name, route, p.Kept})
	if !recorded {
		return
	}
	entry := store.Refusal{Actor: who.name, Action: actionOf(c), Why: p.Kept, Route: route, Address: c.RealIP(), Times: times}
	if strings.HasPrefix(c.Path(), views.RouteJob) || strings.HasPrefix(c.Path(), routeAPIJob) {
		entry.JobID, _ = parseID(c.Param("id"))
	}
	if err := s.cfg.Store.RecordRefusal(ctx, entry); err != nil {
		s.cfg.Log.Warn("a refusal is not in the audit", keyRequestID, c.Get(keyRequestID), "error", err)
	}
}

// actionOf is what a request asks for: the last word of its route, unless that
// is no verb.
func actionOf(c echo.Context) string {
	if readOnly(c.Request().Method) {
		return "look"
	}
	switch c.Path() {
	case routeAPIJobs:
		return "enqueue"
	case routeAPISearches:
		return "search"
	case views.RouteOperations, routeAPIOperations:
		return "preview"
	}
	return c.Path()[strings.LastIndexByte(c.Path(), '/')+1:]
}

// crossOrigin refuses what another site's page may have sent.
func crossOrigin(message string, cause error) error {
	return &problem{Status: http.StatusForbidden, Code: "cross_origin", Message: message, Kept: keptByOrigin, cause: cause}
}
