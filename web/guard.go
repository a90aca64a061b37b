package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/views"
)

// allowed is the list of host names under which the console answers. The
// loopback names are always on it; ports do not matter.
func allowed(hosts []string) map[string]bool {
	out := map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}
	for _, h := range hosts {
		if name := hostName(h); name != "" {
			out[name] = true
		}
	}
	return out
}

// hostName is a Host without its port, in its normal form.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return host
}

// expectHost refuses a request that names a host which is not ours: a page
// whose name was made to point here could otherwise read and press everything.
func (s *Server) expectHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.hosts[hostName(c.Request().Host)] {
			return &problem{Status: http.StatusMisdirectedRequest, Code: "misdirected",
				Message: "This server does not answer under that host name. If it should, name the host in its configuration."}
		}
		return next(c)
	}
}

// refuseForgery lets a write through only when it comes from a page of this
// console. A browser says where a request comes from; programs, which say
// nothing, use the API with a content type that no foreign form can send.
func (s *Server) refuseForgery(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if err := s.forgery.Check(r); err != nil {
			return crossOrigin("This write came from a page of another origin. Nothing was changed.", err)
		}
		silent := r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == ""
		if silent && !readOnly(r.Method) && !forPrograms(c) {
			return crossOrigin("This form did not say which page it came from. Nothing was changed. Programs use the API under /api/v1 instead.", nil)
		}
		return next(c)
	}
}

// refuseForeignReader keeps other sites' pages from opening streams here: they
// could not read them, but each takes a place.
func refuseForeignReader(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !foreign(c.Request()) {
			return next(c)
		}
		return crossOrigin("Streams are for pages of this console.", nil)
	}
}

// foreign reports whether a browser says that another site's page led here.
// Programs say nothing.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return true
}

func readOnly(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// forPrograms reports whether a request is for the API, which answers in JSON
// whatever happens.
func forPrograms(c echo.Context) bool {
	path := c.Request().URL.Path
	return path == "/api" || strings.HasPrefix(path, "/api/")
}

// inPlainText are the addresses at which no page is ever read: what is wrong is
// told in a line of text.
var inPlainText = map[string]bool{routeHealth: true, routeReady: true, routeMetrics: true, views.RouteStream: true}
