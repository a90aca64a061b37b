package web

import "github.com/labstack/echo/v4"

// policy allows what the console is made of and nothing else: its own files.
// There is no inline script, no inline style, no frame around or inside.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

var safeHeaders = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "same-origin", // with no-referrer a form's Origin would be "null"
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "accelerometer=(), camera=(), geolocation=(), gyroscope=(), microphone=(), payment=(), usb=()",
	"Cache-Control":                "no-store",
}

// headers sets what every answer carries, refusals and errors included. Only
// the console's own files say otherwise about caching.
func (s *Server) headers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		if s.cfg.SignIn != nil && s.cfg.SignIn.secure() {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		for name, value := range safeHeaders {
			h.Set(name, value)
		}
		return next(c)
	}
}
