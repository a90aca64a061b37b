package web

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"log"

	"github.com/labstack/echo/v4"
)

const keyRequestID = "request"

// observe gives each request an id of its own, answers what went wrong, and
// logs the outcome once. Queries, bodies and headers are never logged: they
// can hold what people typed.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		id := requestID()
		c.Set(keyRequestID, id)
		c.Response().Header().Set("X-Request-Id", id)
		err := caught(next, c)
		if err != nil {
			p := explain(err)
			s.recordRefusal(c, p)
			s.answer(c, p)
		}
		took := time.Since(began)
		s.traffic.count(c, isStream(c), statusOf(c, err), took)
		s.logRequest(c, err, took)
		return nil
	}
}

// panicked is the error made of a panic.
type panicked struct {
	value any
	stack []byte
}

// Error tells what the runtime says, and of any other value its type alone: a
// text may hold what a job was given, and the stack tells where it was made.
func (p *panicked) Error() string {
	if e, ok := p.value.(runtime.Error); ok {
		return "panic: " + e.Error()
	}
	return fmt.Sprintf("panic with a %T", p.value)
}

// caught turns a panic into an error, so that it is answered like any other.
func caught(next echo.HandlerFunc, c echo.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if cause, is := r.(error); is && errors.Is(cause, http.ErrAbortHandler) {
				panic(r)
			}
			err = &panicked{value: r, stack: debug.Stack()}
		}
	}()
	return next(c)
}

func (s *Server) logRequest(c echo.Context, err error, took time.Duration) {
	level := slog.LevelInfo
	attrs := []any{
		keyRequestID, c.Get(keyRequestID), "method", c.Request().Method, "route", c.Path(),
		"path", c.Request().URL.Path, "bytes", c.Response().Size, "ms", took.Milliseconds(),
	}
	if err != nil {
		p := explain(err)
		attrs = append(attrs, "reason", p.Code)
		if p.Status >= 500 {
			level = slog.LevelError
			attrs = append(attrs, "error", err)
		}
		var crash *panicked
		if errors.As(err, &crash) {
			attrs = append(attrs, "stack", string(crash.stack))
		}
	}
	s.cfg.Log.Log(c.Request().Context(), level, "request", append(attrs, "status", statusOf(c, err))...)
}

// statusOf is what was answered, or that nobody was left to answer.
func statusOf(c echo.Context, err error) int {
	if err != nil && explain(err).Status == statusGone {
		return statusGone
	}
	return c.Response().Status
}

// isStream reports whether an answer was a stream.
func isStream(c echo.Context) bool {
	return strings.HasPrefix(c.Response().Header().Get(echo.HeaderContentType), "text/event-stream")
}

func requestID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

// serverLog takes what net/http has to say about connections.
func (s *Server) serverLog() *log.Logger {
	return log.New(logWriter{s.cfg.Log}, "", 0)
}

type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(line []byte) (int, error) {
	w.log.Debug("connection", "error", strings.TrimSpace(string(line)))
	return len(line), nil
}
