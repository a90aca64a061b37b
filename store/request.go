package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Request asks for one job.
type Request struct {
	Kind        string          `json:"kind"`
	Args        json.RawMessage `json:"args"`         // empty means {}
	Key         string          `json:"key"`          // empty for none; unique per kind, as long as the job is kept
	Queue       string          `json:"queue"`        // empty means [DefaultQueue]
	Priority    int16           `json:"priority"`     // lower goes first
	RunAt       time.Time       `json:"run_at"`       // zero means at once, on the database's clock
	MaxAttempts int             `json:"max_attempts"` // 0 means [DefaultAttempts]
	Tags        []string        `json:"tags"`
	Trace       string          `json:"-"` // the enqueuer's W3C traceparent, which attempts' spans continue; empty for none
	Actor       string          `json:"-"` // who enqueues; set by the edge, never by a client
}

// Enqueued says which job a request led to.
type Enqueued struct {
	ID       int64
	Existing bool // the same request had been made before; nothing was stored
}

// normal fills the defaults in and refuses what could not be stored.
func (r Request) normal() (Request, error) {
	if len(r.Args) == 0 {
		r.Args = json.RawMessage("{}")
	}
	if r.Queue == "" {
		r.Queue = DefaultQueue
	}
	if r.MaxAttempts == 0 {
		r.MaxAttempts = DefaultAttempts
	}
	if r.Kind == "" {
		return r, &InvalidError{"kind", "is required"}
	}
	for _, f := range []struct {
		field, value string
		limit        int
	}{{"kind", r.Kind, MaxKind}, {"queue", r.Queue, MaxQueue}, {"key", r.Key, MaxKey}, {"actor", r.Actor, MaxActor}} {
		if err := checkName(f.field, f.value, f.limit); err != nil {
			return r, err
		}
	}
	if r.Trace != "" && !ValidTrace(r.Trace) {
		return r, &InvalidError{"trace", "is not a W3C traceparent of version 00"}
	}
	if r.MaxAttempts < 1 || r.MaxAttempts > MaxAttempts {
		return r, &InvalidError{"max_attempts", fmt.Sprintf("must be between 1 and %d", MaxAttempts)}
	}
	if !r.RunAt.IsZero() {
		if err := CheckRunAt(r.RunAt); err != nil {
			return r, err
		}
	}
	if err := checkTags(r.Tags); err != nil {
		return r, err
	}
	return r, CheckJSON("args", r.Args, MaxArgs)
}

// CheckRunAt reports, as an *[InvalidError], a time that no job can be due at.
// In a [Request] the zero time means at once; what reads times from texts asks
// here first, so that somebody's year 1 is not taken for it.
func CheckRunAt(at time.Time) error {
	if at.Year() < 1970 || at.Year() > 9999 {
		return &InvalidError{"run_at", "must lie between the years 1970 and 9999"}
	}
	return nil
}

func checkTags(tags []string) error {
	if len(tags) > MaxTags {
		return &InvalidError{"tags", fmt.Sprintf("has %d entries; the limit is %d", len(tags), MaxTags)}
	}
	for i, tag := range tags {
		field := fmt.Sprintf("tags[%d]", i)
		if tag == "" {
			return &InvalidError{field, "is empty"}
		}
		if err := checkName(field, tag, MaxTag); err != nil {
			return err
		}
	}
	return nil
}

// checkName accepts any text that can be stored and shown on one line.
func checkName(field, value string, limit int) error {
	switch {
	case len(value) > limit:
		return &InvalidError{field, fmt.Sprintf("is %d bytes long; the limit is %d", len(value), limit)}
	case !utf8.ValidString(value):
		return &InvalidError{field, "is not UTF-8"}
	case strings.ContainsFunc(value, unicode.IsControl):
		return &InvalidError{field, "holds a control character"}
	}
	return nil
}

// checkReason accepts an operator's words: several lines, but nothing that
// PostgreSQL cannot keep.
func checkReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return &InvalidError{"reason", "is required"}
	case len(reason) > MaxReason:
		return &InvalidError{"reason", fmt.Sprintf("is %d bytes long; the limit is %d", len(reason), MaxReason)}
	case !utf8.ValidString(reason):
		return &InvalidError{"reason", "is not UTF-8"}
	case strings.ContainsRune(reason, 0):
		return &InvalidError{"reason", "holds a NUL character"}
	}
	return nil
}
