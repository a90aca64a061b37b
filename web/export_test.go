package web

import (
	"net/http"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
)

// What the tests see of the inside.

// Line is one line of the table of routes.
type Line struct {
	Path, Method string
	Stream       bool
}

// Routes is the table of routes.
func (s *Server) Routes() []Line {
	var out []Line
	for _, r := range s.routes() {
		if r.what == "" {
			panic("a route that does not say what it is: " + r.path)
		}
		out = append(out, Line{r.path, r.method, r.stream})
	}
	return out
}

// AddPage adds a page to a server, rendered as all are.
func (s *Server) AddPage(path string, component func() templ.Component) {
	s.echo.GET(path, func(c echo.Context) error { return page(c, http.StatusOK, component()) })
}

// OpenRooms is how many topics somebody follows.
func (s *Server) OpenRooms() int {
	s.lobby.mu.Lock()
	defer s.lobby.mu.Unlock()
	return len(s.lobby.rooms)
}

// OpenStreams is how many streams are open.
func (s *Server) OpenStreams() int { return int(s.streams.Load()) }

// SetClock gives what counts within a time another clock.
func (s *Server) SetClock(now func() time.Time) { s.refusals.now, s.meter.now = now, now }

// Explained is the status with which an error is answered, and its code.
func Explained(err error) (status int, code string) {
	p := explain(err)
	return p.Status, p.Code
}

// Ask counts a request of a stranger, and tells how many addresses are counted.
func (s *Server) Ask(address string) (wait time.Duration, kept int) {
	wait = s.meter.take(&s.meter.strangers, budget{network(address), false}, s.cfg.Rates.Strangers)
	return wait, len(s.meter.strangers)
}

// Encode makes an event of a stream.
func Encode(name string, data []byte) []byte { return encode(name, data) }

// DefaultHeartbeat is the time between two beats unless configured.
func DefaultHeartbeat() time.Duration { return Config{}.withDefaults().Heartbeat }

// Rule is who may use an address.
type Rule struct{ rule }

// Rules are all rules, by method and route.
func Rules() map[string]Rule {
	out := map[string]Rule{}
	for name, r := range rules {
		out[name] = Rule{r}
	}
	return out
}

// Named reports whether the handler asks for the queue that the body names.
func (r Rule) Named() bool { return r.named }

// Allows says what the rule means for powers in a queue, in words of its own.
func (r Rule) Allows(p store.Powers, queue string) bool {
	if r.open {
		return true
	}
	bounded := r.everywhere && p.Queues != nil || r.ofJob && !p.ActsOn(queue)
	return r.role != "" && p.Role.Includes(r.role) && (r.also == "" || p.Has(r.also)) && !bounded
}
