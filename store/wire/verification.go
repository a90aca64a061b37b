package wire

import "github.com/fenceline/fenceline/store"

// Verification is how far the log was checked while jobs ran, and what was found.
type Verification struct {
	Transitions int64   `json:"transitions"`
	Since       *string `json:"since"`
	Through     *string `json:"through"`
	At          *string `json:"at"`
	Stale       int64   `json:"stale_accepted"`
	Open        int64   `json:"stale_accepted_unsettled"`
	Beginless   int64   `json:"not_judged"`
	MissedFrom  *string `json:"removed_unchecked_from"`
	MissedUntil *string `json:"removed_unchecked_until"`
	Violations  int64   `json:"violations_found"`
	Found       []Found `json:"violations"` // the newest, at most 100
}

// Found is a violation, and when it happened and was found.
type Found struct {
	store.Violation
	At      string `json:"at"`
	FoundAt string `json:"found_at"`
	Stale   bool   `json:"stale_accepted"`
}

// VerificationOf shows it.
func VerificationOf(v store.Verification) Verification {
	out := Verification{Transitions: v.N, Since: InstantOrNull(v.Since), Through: InstantOrNull(v.Through), At: InstantOrNull(v.At), Stale: v.Stale, Open: v.Open,
		Beginless: v.Beginless, MissedFrom: InstantOrNull(v.MissedFrom), MissedUntil: InstantOrNull(v.MissedUntil), Violations: v.Violations, Found: []Found{}}
	for _, f := range v.Found {
		out.Found = append(out.Found, Found{f.Violation, Instant(f.At), Instant(f.FoundAt), f.Stale})
	}
	return out
}
