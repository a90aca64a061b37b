package main

import (
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// jobJSON is a job as every verb prints it. Ids are strings, so that 64 bits
// survive every reader; times are RFC 3339 in UTC.
type jobJSON struct {
	ID               int64       `json:"id,string"`
	Kind             string      `json:"kind"`
	Queue            string      `json:"queue"`
	Key              *string     `json:"key"`
	Tags             []string    `json:"tags"`
	Priority         int16       `json:"priority"`
	State            store.State `json:"state"`
	Generation       int64       `json:"generation"`
	Revision         int64       `json:"revision"`
	AttemptsUsed     int         `json:"attempts_used"`
	MaxAttempts      int         `json:"max_attempts"`
	AttemptID        *uuid.UUID  `json:"attempt_id"`
	AttemptEnd       *string     `json:"attempt_end"`
	Worker           *string     `json:"worker"`
	ClaimedAt        *time.Time  `json:"claimed_at"`
	LeaseUntil       *time.Time  `json:"lease_until"`
	ResultAttemptID  *uuid.UUID  `json:"result_attempt_id"`
	ResultGeneration *int64      `json:"result_generation"`
	CreatedAt        time.Time   `json:"created_at"`
	RunAt            time.Time   `json:"run_at"`
	FinishedAt       *time.Time  `json:"finished_at"`
	EnqueuedBy       *string     `json:"enqueued_by"`
	ParentID         *string     `json:"parent_id"`
	FollowName       *string     `json:"follow_name"`
	ArgsVersion      int64       `json:"args_version"`
	ErasedAt         *time.Time  `json:"erased_at"`
}

type enqueuedJSON struct {
	jobJSON
	Existing bool `json:"existing"`
}

func jobOf(j store.Job) jobJSON {
	out := jobJSON{
		ID: j.ID, Kind: j.Kind, Queue: j.Queue, Key: orNull(j.Key), Tags: j.Tags, Priority: j.Priority,
		State: j.State, Generation: j.Generation, Revision: j.Revision, AttemptsUsed: j.Attempts, MaxAttempts: j.MaxAttempts,
		AttemptID: orNull(j.AttemptID), AttemptEnd: orNull(string(j.AttemptEnd)), Worker: orNull(j.Worker),
		ClaimedAt: orNull(j.ClaimedAt), LeaseUntil: orNull(j.LeaseUntil), ResultAttemptID: orNull(j.ResultAttemptID), ResultGeneration: orNull(j.ResultGeneration),
		CreatedAt: j.CreatedAt, RunAt: j.RunAt, FinishedAt: orNull(j.FinishedAt), EnqueuedBy: orNull(j.EnqueuedBy),
		FollowName: orNull(j.FollowName), ArgsVersion: j.ArgsVersion, ErasedAt: orNull(j.ErasedAt),
	}
	if j.ParentID != 0 {
		out.ParentID = orNull(decimal(j.ParentID))
	}
	if out.Tags == nil {
		out.Tags = []string{}
	}
	return out
}

func jobsOf(jobs []store.Job) []jobJSON {
	out := make([]jobJSON, len(jobs))
	for i, j := range jobs {
		out[i] = jobOf(j)
	}
	return out
}

// orNull is nil for the zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// transitionJSON is a transition as `jobs show` prints it.
type transitionJSON struct {
	ID           int64        `json:"id,string"`
	Type         store.Type   `json:"type"`
	At           time.Time    `json:"at"`
	Op           *store.Op    `json:"op"`
	Reason       *string      `json:"reason"`
	AttemptID    *uuid.UUID   `json:"attempt_id"`
	Generation   *int64       `json:"generation"`
	Revision     *int64       `json:"revision"`
	From         *store.State `json:"from_state"`
	To           *store.State `json:"to_state"`
	LeaseUntil   *time.Time   `json:"lease_until"`
	RunAt        *time.Time   `json:"run_at"`
	AttemptsUsed int          `json:"attempts_used"`
	MaxAttempts  int          `json:"max_attempts"`
	Worker       *string      `json:"worker"`
	Actor        *string      `json:"actor"`
	Detail       store.Detail `json:"detail"`
}

func transitionOf(t store.Transition) transitionJSON {
	return transitionJSON{
		ID: t.ID, Type: t.Type, At: t.At, Op: orNull(t.Op), Reason: orNull(t.Reason), AttemptID: orNull(t.AttemptID),
		Generation: orNull(t.Generation), Revision: orNull(t.Revision), From: orNull(t.From), To: orNull(t.To),
		LeaseUntil: orNull(t.LeaseUntil), RunAt: orNull(t.RunAt), AttemptsUsed: t.Attempts, MaxAttempts: t.MaxAttempts,
		Worker: orNull(t.Worker), Actor: orNull(t.Actor), Detail: t.Detail,
	}
}

// attemptJSON is one attempt's life.
type attemptJSON struct {
	AttemptID  uuid.UUID  `json:"attempt_id"`
	Generation int64      `json:"generation"`
	Worker     string     `json:"worker"`
	ClaimedAt  *time.Time `json:"claimed_at"`
	LeaseUntil *time.Time `json:"lease_until"`
	Renewals   int        `json:"renewals"`
	End        *store.End `json:"end"`
	EndedAt    *time.Time `json:"ended_at"`
	Reason     *string    `json:"reason"`
	Refused    int        `json:"refused"`
	Error      *errorJSON `json:"error"`
	Output     *string    `json:"output"`
}

type errorJSON struct {
	Class       string `json:"class"`
	Message     string `json:"message"`
	Trace       string `json:"trace,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

func attemptOf(l store.Lane, failures []store.AttemptFailure) attemptJSON {
	out := attemptJSON{
		AttemptID: l.AttemptID, Generation: l.Generation, Worker: l.Worker, ClaimedAt: orNull(l.ClaimedAt),
		LeaseUntil: orNull(l.LeaseUntil), Renewals: len(l.Renewals), End: orNull(l.End), EndedAt: orNull(l.EndedAt),
		Reason: orNull(l.Reason), Refused: len(l.Refused),
	}
	for _, f := range failures {
		if f.AttemptID != l.AttemptID {
			continue
		}
		out.Output = orNull(f.Output)
		if f.Class != "" || f.Message != "" {
			out.Error = &errorJSON{f.Class, f.Message, f.Trace, f.Fingerprint}
		}
	}
	return out
}
