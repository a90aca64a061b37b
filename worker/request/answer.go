package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/internal/outcome"
)

// Result is what a job that was delivered results in.
type Result struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"` // JSON when the answer is, else a text; null for nothing
	Cut    bool            `json:"cut"`  // the body was longer than 64 KiB; this is its beginning
}

// reading is an answer's body as far as it is kept, with the target's secrets
// masked: a target may send back what it was sent.
type reading struct {
	status int
	json   bool
	text   string
	cut    bool
	err    error
}

func (t *target) read(answer *http.Response) *reading {
	if answer.StatusCode == http.StatusSwitchingProtocols {
		// The transport lets go of the connection: neither the request's time nor
		// the end of the attempt would end a read of it.
		return &reading{status: answer.StatusCode}
	}
	longest := 0
	if len(t.secrets) > 0 {
		longest = len(t.secrets[0])
	}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, int64(maxBody+1+longest)))
	g := &reading{status: answer.StatusCode, err: err, cut: len(raw) > maxBody}
	if g.cut {
		raw, g.err = raw[:t.cut(raw)], nil
	}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	g.json = !g.cut && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
	g.text = t.masks.Replace(string(raw))
	return g
}

// cut is where to end a body that is longer than is kept: at the limit, or before
// a secret that lies across it, half of which would not be known for one.
func (t *target) cut(raw []byte) int {
	end := maxBody
	for _, secret := range t.secrets {
		from := maxBody - min(len(secret)-1, maxBody)
		if i := bytes.Index(raw[from:min(len(raw), maxBody+len(secret)-1)], []byte(secret)); i >= 0 {
			end = min(end, from+i)
		}
	}
	return end
}

// result keeps JSON digit for digit. What PostgreSQL could not store as JSON is
// kept as text: the request has been delivered, and must not fail for it.
func (g *reading) result() *Result {
	r := &Result{Status: g.status, Cut: g.cut, Body: json.RawMessage("null")}
	switch {
	case len(bytes.TrimSpace([]byte(g.text))) == 0:
	case g.json && store.CheckJSON("body", []byte(g.text), store.MaxResult/2) == nil:
		r.Body = json.RawMessage(g.text)
	default:
		text := strings.ReplaceAll(strings.ToValidUTF8(g.text, "\uFFFD"), "\x00", "\uFFFD")
		if quoted, err := json.Marshal(text); err == nil {
			r.Body = quoted
		}
	}
	return r
}

// output is the beginning of an answer that is no success, for people.
func (g *reading) output() string {
	return outcome.Tidy([]byte(g.text[:min(len(g.text), outcome.Kept)]))
}

func succeeded(status int) bool { return status >= 200 && status < 300 }

// mayPass reports whether a later request may fare better.
func mayPass(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests ||
		status >= 500
}

func refusal(target string, answer *http.Response, now time.Time) error {
	status := answer.StatusCode
	message := fmt.Sprintf("%s answered %d", target, status)
	if text := http.StatusText(status); text != "" {
		message += " " + text
	}
	switch {
	case status == http.StatusSwitchingProtocols:
		message += "; no other protocol than HTTP is spoken"
	case status >= 300 && status < 400:
		message += "; redirects are not followed: name the place itself in the target"
	}
	err := outcome.Fail(fmt.Sprintf("http %d", status), message, nil)
	if !mayPass(status) {
		return worker.Permanent(err)
	}
	return worker.RetryAfter(err, retryAfter(answer.Header, now))
}

const maxRetryAfter = time.Hour

// retryAfter is what an answer asks for: seconds, or a time by the clock of
// whoever answers, if that is told. Nothing readable is nothing.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
