package store

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"
)

// Transition is the durable record of one change of a job, or of one refused
// write. It never holds a payload or an error text.
type Transition struct {
	ID    int64  // orders the transitions of one job; says nothing across jobs
	XID   uint64 // the transaction that wrote it
	JobID int64
	Kind  string
	Queue string
	Type  Type
	At    time.Time // the verdict's clock: read in the database after the row was locked

	AttemptID  uuid.UUID // uuid.Nil where no attempt is concerned
	Generation int64     // of a rejected one: what was offered
	Worker     string
	Actor      string // who acted: an operator, an enqueuer, "sweeper"; empty for a worker's own verbs

	Op     Op     // rejected only: the verb that was offered
	Reason string // rejected: a [Reason]; failed, expired: why it led where it led; an operator's action: their words

	Revision    int64 // after the change; 0 for renewed and rejected
	From, To    State // empty where the state does not change
	LeaseUntil  time.Time
	RunAt       time.Time
	Attempts    int // attempts used after the change
	MaxAttempts int

	Detail Detail
}

// Detail is the small typed remainder of a transition.
type Detail struct {
	Current   int64  `json:"current,omitempty"`    // rejected: the generation that was current
	ClassHash string `json:"class,omitempty"`      // failed: fingerprint of the error
	FollowUps int    `json:"follow_ups,omitempty"` // completed, baseline: follow-up jobs written with the result
	Linked    int    `json:"linked,omitempty"`     // completed: follow-ups that an earlier result had already written
	Unstarted bool   `json:"unstarted,omitempty"`  // released: the attempt had not begun, so it was not charged
	LeaseMS   int64  `json:"lease_ms,omitempty"`   // claimed: the length of the lease, milliseconds
	Operation int64  `json:"operation,omitempty"`  // requeued, terminated: the operation on many jobs that did it

	// An operator's actions on one job. What they changed of the columns above
	// stands there.
	Request     uuid.UUID `json:"request,omitzero"`       // what tells a repeat
	ArgsVersion int64     `json:"args_version,omitempty"` // requeued, amended: the args are other ones from here on; baseline: the present version
	Restored    int64     `json:"restored,omitempty"`     // of those, which older version they are
	Priority    *int16    `json:"priority,omitempty"`     // the new one; baseline: where it was changed
	PriorityWas *int16    `json:"priority_was,omitempty"`
	QueueWas    string    `json:"queue_was,omitempty"` // amended, as are the next two: where the column above was changed
	RunAtWas    time.Time `json:"run_at_was,omitzero"`
	BudgetWas   int       `json:"max_attempts_was,omitempty"`
	TagAdded    string    `json:"tag_added,omitempty"`
	TagRemoved  string    `json:"tag_removed,omitempty"`
	Copy        int64     `json:"copy,string,omitempty"`    // duplicated: the new job
	CopyOf      int64     `json:"copy_of,string,omitempty"` // enqueued: the job that it is like

	// A baseline's: what the removed transitions said beyond its columns.
	First      time.Time `json:"first,omitzero"`             // when they began
	Before     time.Time `json:"before,omitzero"`            // all before it were removed
	Count      int       `json:"count,omitempty"`            // how many were
	AttemptEnd End       `json:"attempt_end,omitempty"`      // how the last attempt ended
	ClaimedAt  time.Time `json:"claimed_at,omitzero"`        // when it was claimed
	EndedAt    time.Time `json:"ended_at,omitzero"`          // when its end was recorded
	FinishedAt time.Time `json:"finished_at,omitzero"`       // when the job ended
	ResultBy   uuid.UUID `json:"result_by,omitzero"`         // whose result is stored
	ResultGen  int64     `json:"result_generation,omitzero"` // its generation
	ArgsFrom   int64     `json:"args_from,omitempty"`        // the oldest version of the args since the last erasure
	Erased     bool      `json:"erased,omitempty"`           // the args are gone
}

const transitionColumns = `t.id, t.xid::text::bigint, t.job_id, t.kind, t.queue, t.type::text, t.at,
  t.attempt_id, coalesce(t.generation, 0), coalesce(t.worker, ''), coalesce(t.actor, ''),
  coalesce(t.op::text, ''), coalesce(t.reason, ''), coalesce(t.revision, 0),
  coalesce(t.from_state::text, ''), coalesce(t.to_state::text, ''), t.lease_until, t.run_at,
  coalesce(t.attempts_used, 0), coalesce(t.max_attempts, 0), t.detail`

func scanTransition(row pgx.CollectableRow) (t Transition, err error) {
	err = t.scan(row)
	return t, err
}

// scan leaves nothing behind but the row: the page of a job reads thousands.
func (t *Transition) scan(row pgx.CollectableRow) error {
	var (
		xid        int64
		detail     []byte
		lease, run zeronull.Timestamptz
	)
	err := row.Scan(&t.ID, &xid, &t.JobID, &t.Kind, &t.Queue, (*string)(&t.Type), &t.At,
		(*zeronull.UUID)(&t.AttemptID), &t.Generation, &t.Worker, &t.Actor,
		(*string)(&t.Op), &t.Reason, &t.Revision,
		(*string)(&t.From), (*string)(&t.To), &lease, &run,
		&t.Attempts, &t.MaxAttempts, &detail)
	if err == nil && detail != nil {
		err = json.Unmarshal(detail, &t.Detail)
	}
	t.XID, t.At = uint64(xid), t.At.UTC()
	t.LeaseUntil, t.RunAt = time.Time(lease).UTC(), time.Time(run).UTC()
	return err
}

// collectTransitions reads many rows without moving those it has each time that
// there is no room for another.
func collectTransitions(rows pgx.Rows) ([]Transition, error) {
	defer rows.Close()
	var chunks [][]Transition
	room := 0
	for rows.Next() {
		if room == 0 {
			room = 16 << min(len(chunks), 6)
			chunks = append(chunks, make([]Transition, 0, room))
		}
		last := &chunks[len(chunks)-1]
		*last = (*last)[:len(*last)+1]
		room--
		if err := (*last)[len(*last)-1].scan(rows); err != nil {
			return nil, err
		}
	}
	return slices.Concat(chunks...), rows.Err()
}
