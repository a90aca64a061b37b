package detect

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// record is a transition as a recorded log holds it: one JSON object a line. An
// operator's words are left out.
type record struct {
	ID         int64       `json:"id,string"`
	XID        uint64      `json:"xid,string"`
	JobID      int64       `json:"job_id,string"`
	At         time.Time   `json:"at"`
	Type       store.Type  `json:"type"`
	Kind       string      `json:"kind"`
	Queue      string      `json:"queue"`
	AttemptID  uuid.UUID   `json:"attempt_id,omitzero"`
	Generation int64       `json:"generation,omitempty"`
	Worker     string      `json:"worker,omitempty"`
	Op         store.Op    `json:"op,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	To         store.State `json:"to_state,omitempty"`
	LeaseUntil time.Time   `json:"lease_until,omitzero"`
	RunAt      time.Time   `json:"run_at,omitzero"`
	Error      string      `json:"error,omitempty"` // the fingerprint
}

// Write records a log.
func Write(w io.Writer, log []store.Transition) error {
	out := json.NewEncoder(w)
	for _, t := range log {
		reason := t.Reason
		if t.Type.Operated() {
			reason = ""
		}
		err := out.Encode(record{t.ID, t.XID, t.JobID, t.At, t.Type, t.Kind, t.Queue, t.AttemptID, t.Generation, t.Worker, t.Op, reason, t.To, t.LeaseUntil, t.RunAt, t.Detail.ClassHash})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxRecord bounds a line of a recorded log, in bytes.
const maxRecord = 64 << 10

// Read reads a recorded log. The error names the line.
func Read(r io.Reader) ([]store.Transition, error) {
	var log []store.Transition
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRecord)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var one record
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if one.ID <= 0 || one.JobID <= 0 || one.At.IsZero() || one.Type == "" {
			return nil, fmt.Errorf("line %d: id, job_id, at and type are required", n)
		}
		log = append(log, store.Transition{ID: one.ID, XID: one.XID, JobID: one.JobID, At: one.At, Type: one.Type, Kind: one.Kind, Queue: one.Queue,
			AttemptID: one.AttemptID, Generation: one.Generation, Worker: one.Worker, Op: one.Op, Reason: one.Reason, To: one.To,
			LeaseUntil: one.LeaseUntil, RunAt: one.RunAt, Detail: store.Detail{ClassHash: one.Error}})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the recorded log: %w", err)
	}
	return log, nil
}
