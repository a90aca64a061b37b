package wire

import "github.com/fenceline/fenceline/store"

// Job is a job without its payload.
type Job struct {
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

// JobOf shows a job.
func JobOf(j store.Job) Job {
	return Job{
		ID: Decimal(j.ID), Kind: j.Kind, Queue: j.Queue, Key: OrNull(j.Key), Tags: list(j.Tags), Priority: j.Priority,
		State: string(j.State), Generation: j.Generation, Revision: j.Revision,
		AttemptsUsed: j.Attempts, MaxAttempts: j.MaxAttempts,
		AttemptID: idOrNull(j.AttemptID), AttemptEnd: OrNull(string(j.AttemptEnd)), Worker: OrNull(j.Worker),
		ClaimedAt: InstantOrNull(j.ClaimedAt), LeaseUntil: InstantOrNull(j.LeaseUntil),
		ResultAttemptID: idOrNull(j.ResultAttemptID), ResultGeneration: OrNull(j.ResultGeneration),
		CreatedAt: Instant(j.CreatedAt), RunAt: Instant(j.RunAt), FinishedAt: InstantOrNull(j.FinishedAt),
		EnqueuedBy: OrNull(j.EnqueuedBy), ParentID: DecimalOrNull(j.ParentID), FollowName: OrNull(j.FollowName),
		ArgsVersion: j.ArgsVersion, ErasedAt: InstantOrNull(j.ErasedAt),
	}
}

// JobsOf shows jobs, in their order; none are an empty list.
func JobsOf(all []store.Job) []Job {
	out := make([]Job, len(all))
	for i, j := range all {
		out[i] = JobOf(j)
	}
	return out
}

// Attempt is the life of one attempt.
type Attempt struct {
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

// AttemptsOf shows the attempts of a job, oldest first.
func AttemptsOf(h store.History) []Attempt {
	out := make([]Attempt, len(h.Lanes))
	for i, l := range h.Lanes {
		out[i] = Attempt{
			AttemptID: l.AttemptID.String(), Generation: l.Generation, Worker: OrNull(l.Worker),
			ClaimedAt: InstantOrNull(l.ClaimedAt), LeaseUntil: InstantOrNull(l.LeaseUntil), Renewals: len(l.Renewals),
			End: OrNull(string(l.End)), EndedAt: InstantOrNull(l.EndedAt), Reason: OrNull(l.Reason), Refused: len(l.Refused),
		}
	}
	return out
}
