package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// AttemptError is what a handler's failure looked like. It is shown by the
// payload rules and never enters a transition, a notification or a log.
type AttemptError struct {
	Class   string // a short name: the error's type, "panic", "exit status 3"
	Message string
	Trace   string
}

// AttemptFailure is the error of one attempt as it is stored, with what its
// program said on standard error.
type AttemptFailure struct {
	AttemptError
	AttemptID   uuid.UUID
	Generation  int64
	At          time.Time // the database's clock
	Fingerprint string    // equal for errors that differ in numbers and ids only
	Output      string
	ErrorKept   bool // there is a message or a trace, and the reader may not see it
	OutputKept  bool
	ErrorNever  bool // of what is kept, that a rule keeps it from everybody
	OutputNever bool
}

// clean makes the texts storable and bounded. It cannot fail, because a text
// must never stop a failure from being recorded.
func (e AttemptError) clean() AttemptError {
	e.Class = cut(storable(e.Class), maxErrorClass)
	if e.Class == "" {
		e.Class = "error"
	}
	e.Message = cut(storable(e.Message), maxErrorMessage)
	e.Trace = cut(storable(e.Trace), maxErrorTrace)
	return e
}

var variable = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+|\b[0-9a-f]{16,}\b|"[^"]*"|'[^']*'|\d+`)

// fingerprint groups errors: version, class and text without its variable
// parts, hashed so that it shows nothing of the text.
func (e AttemptError) fingerprint() string {
	text := variable.ReplaceAllString(cut(e.Message, 2048), "#")
	sum := sha256.Sum256([]byte("1\x00" + e.Class + "\x00" + text))
	return "1:" + hex.EncodeToString(sum[:8])
}

// storable replaces what PostgreSQL's text cannot hold.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

const keepErrorsSQL = `
insert into fenceline.attempt_errors (job_id, generation, at, attempt_id, class, message, trace, fingerprint)
select e.job_id, e.generation, clock_timestamp(), e.attempt_id, e.class, e.message, nullif(e.trace, ''), e.fingerprint
from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[])
  as e (job_id, generation, attempt_id, class, message, trace, fingerprint)
on conflict do nothing`

// keepErrors stores the error of each accepted failure.
func keepErrors(ctx context.Context, tx pgx.Tx, outcomes []Outcome, errors []AttemptError) error {
	var ids, generations []int64
	var attempts []uuid.UUID
	var classes, messages, traces, fingerprints []string
	for i, out := range outcomes {
		if out.Err != nil || out.Repeated || errors[i].Class == "" {
			continue
		}
		ids, generations = append(ids, out.Lease.JobID), append(generations, out.Lease.Generation)
		attempts = append(attempts, out.Lease.AttemptID)
		classes, messages = append(classes, errors[i].Class), append(messages, errors[i].Message)
		traces, fingerprints = append(traces, errors[i].Trace), append(fingerprints, errors[i].fingerprint())
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, keepErrorsSQL, ids, generations, attempts, classes, messages, traces, fingerprints)
	if err != nil {
		return fmt.Errorf("keep the attempts' errors: %w", err)
	}
	return nil
}

const keepOutputsSQL = `
insert into fenceline.attempt_outputs (job_id, generation, at, attempt_id, output)
select o.job_id, o.generation, clock_timestamp(), o.attempt_id, o.output
from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[]) as o (job_id, generation, attempt_id, output)
on conflict do nothing`

// keepOutputs stores what the programs of accepted attempts said last.
func keepOutputs(ctx context.Context, tx pgx.Tx, outcomes []Outcome, output func(int) string) error {
	var ids, generations []int64
	var attempts []uuid.UUID
	var texts []string
	for i, out := range outcomes {
		text := cut(storable(output(i)), maxOutput)
		if out.Err != nil || out.Repeated || text == "" {
			continue
		}
		ids, generations = append(ids, out.Lease.JobID), append(generations, out.Lease.Generation)
		attempts, texts = append(attempts, out.Lease.AttemptID), append(texts, text)
	}
	if len(ids) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, keepOutputsSQL, ids, generations, attempts, texts); err != nil {
		return fmt.Errorf("keep the attempts' output: %w", err)
	}
	return nil
}
