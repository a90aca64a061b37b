package wire

import (
	"encoding/json"

	"github.com/fenceline/fenceline/store"
)

// AuditEntry is what somebody did or looked at.
type AuditEntry struct {
	ID       string          `json:"id"`
	At       string          `json:"at"`
	Actor    string          `json:"actor"`
	Action   string          `json:"action"`
	Outcome  string          `json:"outcome"`
	JobID    *string         `json:"job_id"`
	Seen     *int64          `json:"seen"`
	Revision *int64          `json:"revision"`
	Reason   *string         `json:"reason"`
	Detail   json.RawMessage `json:"detail"`
}

// AuditEntryOf shows an entry of the audit.
func AuditEntryOf(e store.AuditEntry) AuditEntry {
	return AuditEntry{Decimal(e.ID), Instant(e.At), e.Actor, e.Action, e.Outcome, DecimalOrNull(e.JobID), OrNull(e.Seen), OrNull(e.Revision), OrNull(e.Reason), e.Detail}
}

// AuditPage is a page of the audit, newest first.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	Next    *string      `json:"next"`   // pass as after for older ones; null at the end
	Looked  *int64       `json:"looked"` // the reading stopped after so many, and next goes on; null when it did not
}

// AuditPageOf shows a page of the audit.
func AuditPageOf(p store.AuditPage) AuditPage {
	out := AuditPage{make([]AuditEntry, len(p.Entries)), DecimalOrNull(p.Next), OrNull(p.Looked)}
	for i, e := range p.Entries {
		out.Entries[i] = AuditEntryOf(e)
	}
	return out
}
