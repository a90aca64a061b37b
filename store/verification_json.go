package store

import "time"

// VerificationJSON is a [Verification] as programs read it.
type VerificationJSON struct {
	Transitions int64           `json:"transitions"`
	Since       *time.Time      `json:"since"`
	Through     *time.Time      `json:"through"`
	At          *time.Time      `json:"at"`
	Stale       int64           `json:"stale_accepted"`
	Open        int64           `json:"stale_accepted_unsettled"`
	Beginless   int64           `json:"not_judged"`
	MissedFrom  *time.Time      `json:"removed_unchecked_from"`
	MissedUntil *time.Time      `json:"removed_unchecked_until"`
	Violations  int64           `json:"violations_found"`
	Found       []violationJSON `json:"violations"` // the newest, at most 100
}

type violationJSON struct {
	Violation
	At      time.Time `json:"at"`
	FoundAt time.Time `json:"found_at"`
	Stale   bool      `json:"stale_accepted"`
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// VerificationOf is how the API and the command line show it.
func VerificationOf(v Verification) VerificationJSON {
	out := VerificationJSON{Transitions: v.N, Since: timeOrNull(v.Since), Through: timeOrNull(v.Through), At: timeOrNull(v.At), Stale: v.Stale, Open: v.Open,
		Beginless: v.Beginless, MissedFrom: timeOrNull(v.MissedFrom), MissedUntil: timeOrNull(v.MissedUntil), Violations: v.Violations, Found: []violationJSON{}}
	for _, f := range v.Found {
		out.Found = append(out.Found, violationJSON(f))
	}
	return out
}
