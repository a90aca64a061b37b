package views

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// AuditLine is an entry of the audit as the API and its exports show it.
type AuditLine struct {
	ID       string          `json:"id"`
	At       time.Time       `json:"at"`
	Actor    string          `json:"actor"`
	Action   string          `json:"action"`
	Outcome  string          `json:"outcome"`
	JobID    *string         `json:"job_id"`
	Seen     *int64          `json:"seen"`
	Revision *int64          `json:"revision"`
	Reason   *string         `json:"reason"`
	Detail   json.RawMessage `json:"detail"`
}

// AuditLineOf is how an entry is shown to programs.
func AuditLineOf(e store.AuditEntry) AuditLine {
	out := AuditLine{ID: decimal(e.ID), At: e.At, Actor: e.Actor, Action: e.Action, Outcome: e.Outcome, Detail: e.Detail}
	if e.JobID != 0 {
		id := decimal(e.JobID)
		out.JobID = &id
	}
	if e.Seen != 0 {
		out.Seen = &e.Seen
	}
	if e.Revision != 0 {
		out.Revision = &e.Revision
	}
	if e.Reason != "" {
		out.Reason = &e.Reason
	}
	return out
}

// AuditWriter returns what writes pages of the audit in a format, [FormatCSV] or
// [FormatLines]. In CSV a text that a spreadsheet would take for a formula has an
// apostrophe before it; JSON lines hold every text as it is.
func AuditWriter(w io.Writer, format string) func([]store.AuditEntry) error {
	if format == FormatLines {
		lines := json.NewEncoder(w)
		lines.SetEscapeHTML(false)
		return func(all []store.AuditEntry) error {
			for _, e := range all {
				if err := lines.Encode(AuditLineOf(e)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	table, head := csv.NewWriter(w), []string{"id", "at", "actor", "action", "outcome", "job_id", "seen", "revision", "reason", "detail"}
	return func(all []store.AuditEntry) error {
		if head != nil {
			table.Write(head)
			head = nil
		}
		for _, e := range all {
			table.Write([]string{decimal(e.ID), e.At.UTC().Format(time.RFC3339Nano), cell(e.Actor), cell(e.Action), cell(e.Outcome),
				orEmpty(e.JobID), orEmpty(e.Seen), orEmpty(e.Revision), cell(e.Reason), cell(string(e.Detail))})
		}
		table.Flush()
		return table.Error()
	}
}

func orEmpty(n int64) string {
	if n == 0 {
		return ""
	}
	return decimal(n)
}

// cell keeps a spreadsheet from taking somebody's words for a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
