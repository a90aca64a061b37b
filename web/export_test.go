package web

import (
	"net/http"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
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

// Encode makes an event of a stream.
func Encode(name string, data []byte) []byte { return encode(name, data) }

// DefaultHeartbeat is the time between two beats unless configured.
func DefaultHeartbeat() time.Duration { return Config{}.withDefaults().Heartbeat }
