package web

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// What the API shows. Every id is a string, because a browser's numbers lose
// digits of 64 bits; every time is RFC 3339 in UTC; what is absent is null.

type jobJSON struct {
	ID               string   `json:"id"`
	Kind             string   `json:"kind"`
	Queue            string   `json:"queue"`
	Key              *string  `json:"key"`
	Tags             []string `json:"tags"`
	Priority         int16    `json:"priority"`
	State            string   `json:"state"`
	Generation       int64    `json:"generation"`
	Revision         int64    `json:"revision"`
	AttemptsUsed     int      `json:"attempts_used"`
	MaxAttempts      int      `json:"max_attempts"`
	AttemptID        *string  `json:"attempt_id"`
	AttemptEnd       *string  `json:"attempt_end"`
	Worker           *string  `json:"worker"`
	ClaimedAt        *string  `json:"claimed_at"`
	LeaseUntil       *string  `json:"lease_until"`
	ResultAttemptID  *string  `json:"result_attempt_id"`
	ResultGeneration *int64   `json:"result_generation"`
	CreatedAt        string   `json:"created_at"`
	RunAt            string   `json:"run_at"`
	FinishedAt       *string  `json:"finished_at"`
	EnqueuedBy       *string  `json:"enqueued_by"`
	ParentID         *string  `json:"parent_id"`
	FollowName       *string  `json:"follow_name"`
	ArgsVersion      int64    `json:"args_version"`
	ErasedAt         *string  `json:"erased_at"`
}

// wholeJob is a job with its payload, digit for digit as it is stored, and its
// attempts.
type wholeJob struct {
	jobJSON
	Args     json.RawMessage `json:"args"`
	Result   json.RawMessage `json:"result"`
	Attempts []attemptJSON   `json:"attempts"`
}

type attemptJSON struct {
	AttemptID  string  `json:"attempt_id"`
	Generation int64   `json:"generation"`
	Worker     *string `json:"worker"`
	ClaimedAt  *string `json:"claimed_at"`
	LeaseUntil *string `json:"lease_until"`
	Renewals   int     `json:"renewals"`
	End        *string `json:"end"`
	EndedAt    *string `json:"ended_at"`
	Reason     *string `json:"reason"`
	Refused    int     `json:"refused"`
}

type transitionJSON struct {
	ID           string       `json:"id"`
	JobID        string       `json:"job_id"`
	Kind         string       `json:"kind"`
	Queue        string       `json:"queue"`
	Type         string       `json:"type"`
	Op           *string      `json:"op"`
	Reason       *string      `json:"reason"`
	AttemptID    *string      `json:"attempt_id"`
	Generation   *int64       `json:"generation"`
	Revision     *int64       `json:"revision"`
	FromState    *string      `json:"from_state"`
	ToState      *string      `json:"to_state"`
	LeaseUntil   *string      `json:"lease_until"`
	RunAt        *string      `json:"run_at"`
	AttemptsUsed int          `json:"attempts_used"`
	MaxAttempts  int          `json:"max_attempts"`
	Worker       *string      `json:"worker"`
	Actor        *string      `json:"actor"`
	At           string       `json:"at"`
	Detail       store.Detail `json:"detail"`
}

func jobOf(j store.Job) jobJSON {
	return jobJSON{
		ID: decimal(j.ID), Kind: j.Kind, Queue: j.Queue, Key: orNull(j.Key), Tags: list(j.Tags), Priority: j.Priority,
		State: string(j.State), Generation: j.Generation, Revision: j.Revision,
		AttemptsUsed: j.Attempts, MaxAttempts: j.MaxAttempts,
		AttemptID: orNullID(j.AttemptID), AttemptEnd: orNull(string(j.AttemptEnd)), Worker: orNull(j.Worker),
		ClaimedAt: orNullTime(j.ClaimedAt), LeaseUntil: orNullTime(j.LeaseUntil),
		ResultAttemptID: orNullID(j.ResultAttemptID), ResultGeneration: orNullNumber(j.ResultGeneration),
		CreatedAt: instantText(j.CreatedAt), RunAt: instantText(j.RunAt), FinishedAt: orNullTime(j.FinishedAt),
		EnqueuedBy: orNull(j.EnqueuedBy), ParentID: orNullNumberText(j.ParentID), FollowName: orNull(j.FollowName),
		ArgsVersion: j.ArgsVersion, ErasedAt: orNullTime(j.ErasedAt),
	}
}

func attemptsOf(h store.History) []attemptJSON {
	out := make([]attemptJSON, len(h.Lanes))
	for i, l := range h.Lanes {
		out[i] = attemptJSON{
			AttemptID: l.AttemptID.String(), Generation: l.Generation, Worker: orNull(l.Worker),
			ClaimedAt: orNullTime(l.ClaimedAt), LeaseUntil: orNullTime(l.LeaseUntil), Renewals: len(l.Renewals),
			End: orNull(string(l.End)), EndedAt: orNullTime(l.EndedAt), Reason: orNull(l.Reason), Refused: len(l.Refused),
		}
	}
	return out
}

func transitionOf(t store.Transition) transitionJSON {
	return transitionJSON{
		ID: decimal(t.ID), JobID: decimal(t.JobID), Kind: t.Kind, Queue: t.Queue, Type: string(t.Type),
		Op: orNull(string(t.Op)), Reason: orNull(t.Reason), AttemptID: orNullID(t.AttemptID),
		Generation: orNullNumber(t.Generation), Revision: orNullNumber(t.Revision),
		FromState: orNull(string(t.From)), ToState: orNull(string(t.To)),
		LeaseUntil: orNullTime(t.LeaseUntil), RunAt: orNullTime(t.RunAt),
		AttemptsUsed: t.Attempts, MaxAttempts: t.MaxAttempts,
		Worker: orNull(t.Worker), Actor: orNull(t.Actor), At: instantText(t.At), Detail: t.Detail,
	}
}

func instantText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orNullID(id uuid.UUID) *string {
	if id == uuid.Nil {
		return nil
	}
	return orNull(id.String())
}

func orNullTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return orNull(instantText(t))
}

func orNullNumber(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func orNullNumberText(n int64) *string {
	if n == 0 {
		return nil
	}
	return orNull(decimal(n))
}

// list is a list that is empty rather than null.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
