package views

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

// AuditWriter returns what writes pages of the audit in a format, [FormatCSV] or
// [FormatLines]. In CSV a text that a spreadsheet would take for a formula has an
// apostrophe before it; JSON lines hold every text as it is.
func AuditWriter(w io.Writer, format string) func([]store.AuditEntry) error {
	if format == FormatLines {
		lines := json.NewEncoder(w)
		lines.SetEscapeHTML(false)
		return func(all []store.AuditEntry) error {
			for _, e := range all {
				if err := lines.Encode(wire.AuditEntryOf(e)); err != nil {
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
