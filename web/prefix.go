package web

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// underPrefix takes the prefix off, so that the routes know nothing of it. A
// path without it is served as it is: a proxy may have taken it off already.
func (s *Server) underPrefix(next echo.HandlerFunc) echo.HandlerFunc {
	base := s.urls.Base
	if base == "" {
		return next
	}
	return func(c echo.Context) error {
		r := c.Request()
		if r.URL.Path == base {
			return toRoot(c, base)
		}
		if rest, ok := strings.CutPrefix(r.URL.Path, base+"/"); ok {
			// Changed in place: echo looks the route up by the request that came in,
			// whatever a middleware puts in its stead.
			inner := *r.URL
			inner.Path = "/" + rest
			inner.RawPath = strings.TrimPrefix(r.URL.RawPath, base)
			r.URL = &inner
		}
		return next(c)
	}
}

// toRoot sends a browser from /ops/leases to /ops/leases/.
func toRoot(c echo.Context, base string) error {
	if !readOnly(c.Request().Method) {
		return echo.ErrNotFound
	}
	return c.Redirect(http.StatusPermanentRedirect, base+"/")
}
