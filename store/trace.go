package store

import "regexp"

// Version 00, the only one there is; an id of nothing but zeros names nothing.
var (
	traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)
	noTrace     = regexp.MustCompile(`^00-0{32}-|-0{16}-`)
)

// ValidTrace reports whether s is a W3C traceparent, as a request may carry one
// in its header of that name.
func ValidTrace(s string) bool { return traceparent.MatchString(s) && !noTrace.MatchString(s) }

// TraceID is the part of a traceparent that names the whole trace, 32
// hexadecimal digits; empty for what is no traceparent.
func TraceID(s string) string {
	if !ValidTrace(s) {
		return ""
	}
	return s[3:35]
}
