// Package web serves the console and the HTTP API.
//
// Every route stands in one table, in routes.go. A handler parses, calls the
// store and renders; it returns what went wrong as an error, and the one table
// in errors.go says which status, code and words an error is answered with. A
// page is rendered whole before its first byte is sent, so that an answer is
// either the page or an error page, never half of one.
//
// # What holds for every request
//
//	what                                     where
//	the Host must be one that is expected    guard.go: 421; a page elsewhere cannot rebind its name to this server
//	writes come from the console's own pages guard.go: 403; API writes are application/json, which a foreign form cannot send
//	bodies are bounded                       body.go: 413
//	no inline script or style, no framing    headers.go
//	nothing from a query, body or payload
//	is logged                                observe.go
//	every address has a rule, or is nobody's  rules.go: 401, 403
//	who acts is proved, never said           person.go
//
// # Streams
//
// A stream is made of frames of server-sent events (sse.go). What many readers
// watch is read and rendered once and its bytes are shared (room*.go). Each
// reader has a bounded queue of its own; one that does not keep up is cut and
// told to read the page again, and the others feel nothing.
package web
