package views

import (
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestAnEntryOfTheAuditLeavesOutWhatSaysNothing(t *testing.T) {
	for detail, want := range map[string]string{
		`{}`: "",
		`{"role": "viewer", "queues": null, "rights": []}`: "role: viewer",
		`{"queues": null, "rights": ["reveal"]}`:           "rights: [reveal]",
		`{"rights": []}`:                                   "",
		`{"name": "\", \"a\": null", "n": 1}`:              `name: \, \a\: null · n: 1`,
	} {
		if got := auditDetail(store.AuditEntry{Detail: []byte(detail)}); got != want {
			t.Errorf("%s is told as %q, want %q", detail, got, want)
		}
	}
}

func TestATimeInWholeMinutesIsSaidInMinutes(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Minute: "1 minute", 15 * time.Minute: "15 minutes", 90 * time.Second: "1 m 30 s", 2 * time.Hour: Span(2 * time.Hour)} {
		if got := looksBack(d); got != want {
			t.Errorf("%v is told as %q, want %q", d, got, want)
		}
	}
}
