package web

import (
	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/static"
)

var assets = static.Handler()

// asset is the address of one of the console's files.
func (s *Server) asset(name string) string { return s.urls.At(static.Path(name)) }

// static serves the console's files. What is not one of them is the router's
// not-found, so that its page too stays inside the prefix.
func (s *Server) static(c echo.Context) error {
	w := &missing{ResponseWriter: c.Response()}
	assets.ServeHTTP(w, c.Request())
	if w.is {
		c.Response().Header().Del("Content-Type")
		c.Response().Header().Set("Cache-Control", safeHeaders["Cache-Control"])
		return echo.ErrNotFound
	}
	return nil
}
