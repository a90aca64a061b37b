package web

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
)

// The events of a stream.
const (
	eventHello      = "hello"      // the stream has begun; JSON as of a beat
	eventBeat       = "beat"       // it lives; JSON, see beatJSON
	eventPatch      = "patch"      // elements that replace those of the same ids
	eventResync     = "resync"     // something may be missing: read the page again
	eventTransition = "transition" // of the API: one transition as JSON
)

// encode makes the part of an event that all its readers share. Every kind of
// line end in the data begins a new data line, so that no text can end the
// event or begin another field.
func encode(name string, data []byte) []byte {
	var b bytes.Buffer
	b.WriteString("event: " + name + "\n")
	for line := range lines(data) {
		b.WriteString("data: ")
		b.Write(line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// lines cuts at LF, CR LF and CR, as a reader of a stream does.
func lines(data []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for {
			end := bytes.IndexAny(data, "\r\n")
			if end < 0 {
				yield(data)
				return
			}
			if !yield(data[:end]) {
				return
			}
			if data[end] == '\r' && end+1 < len(data) && data[end+1] == '\n' {
				end++
			}
			data = data[end+1:]
		}
	}
}

func encodeJSON(name string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("web: an event that cannot be JSON: " + err.Error())
	}
	return encode(name, data)
}

// line is one open stream's connection.
type line struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	pending bytes.Buffer
}

// openLine sends the head of a stream. From here on an error can only end it.
func (s *Server) openLine(c echo.Context) (*line, error) {
	l := &line{w: c.Response(), control: http.NewResponseController(c.Response()), timeout: s.cfg.WriteTimeout}
	h := c.Response().Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	// A server's limits for whole requests are not for streams. Where there is
	// no connection to set them on, there is none that they could cut.
	_ = l.control.SetReadDeadline(time.Time{})
	c.Response().WriteHeader(http.StatusOK)
	l.retry(time.Second, 3*time.Second)
	return l, l.flush()
}

// retry tells the reader how long to wait before it comes back: a time of its
// own, so that the readers of one server do not all come at once.
func (l *line) retry(least, most time.Duration) {
	wait := least + rand.N(most-least)
	l.pending.WriteString("retry: " + decimal(wait.Milliseconds()) + "\n\n")
}

// add puts an encoded event in line to be sent; a position of 0 is left out.
func (l *line) add(position uint64, event []byte) {
	if position > 0 {
		l.pending.WriteString("id: " + strconv.FormatUint(position, 10) + "\n")
	}
	l.pending.Write(event)
}

// flush sends what was added. A reader that takes nothing for the whole
// timeout is cut.
func (l *line) flush() error {
	if l.pending.Len() == 0 {
		return nil
	}
	_ = l.control.SetWriteDeadline(time.Now().Add(l.timeout))
	_, err := l.w.Write(l.pending.Bytes())
	l.pending.Reset()
	if err != nil {
		return err
	}
	return l.control.Flush()
}

// bye is the last thing a stream says when the server shuts down.
func (l *line) bye() error {
	l.retry(500*time.Millisecond, 4*time.Second)
	return l.flush()
}
