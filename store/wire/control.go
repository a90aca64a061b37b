package wire

import (
	"time"

	"github.com/fenceline/fenceline/store"
)

// Control is what is set for a queue, a kind, a worker or everything.
type Control struct {
	Scope       string  `json:"scope"`
	Name        string  `json:"name"`
	Revision    int64   `json:"revision"`
	Paused      bool    `json:"paused"`
	Pause       *Pause  `json:"pause"` // the last one, ended or not, until somebody resumes
	Concurrency *int64  `json:"concurrency"`
	Rate        *int64  `json:"rate"`
	Per         *string `json:"per"`
}

// Pause is when a pause began and ends, and who paused.
type Pause struct {
	At     string  `json:"at"`
	Until  *string `json:"until"`
	By     string  `json:"by"`
	Reason string  `json:"reason"`
}

// ControlOf shows a control as it is in force at a time of the database's clock.
func ControlOf(c store.Control, now time.Time) Control {
	out := Control{
		Scope: string(c.Scope), Name: c.Name, Revision: c.Revision, Paused: c.PausedAt(now),
		Concurrency: OrNull(int64(c.Limits.Concurrency)), Rate: OrNull(int64(c.Limits.Rate.N)), Per: SpanOrNull(c.Limits.Rate.Per),
	}
	if !c.Pause.At.IsZero() {
		out.Pause = &Pause{At: Instant(c.Pause.At), Until: InstantOrNull(c.Pause.Until), By: c.Pause.By, Reason: c.Pause.Reason}
	}
	return out
}

// ControlChange is what was done, or refused, about a control.
type ControlChange struct {
	At          string  `json:"at"`
	Actor       string  `json:"actor"`
	Action      string  `json:"action"`
	Outcome     string  `json:"outcome"`
	Reason      string  `json:"reason"`
	Until       *string `json:"until"`
	Concurrency *int64  `json:"concurrency"`
	Rate        *int64  `json:"rate"`
	Per         *string `json:"per"`
}

func changesOf(all []store.ControlChange) []ControlChange {
	out := []ControlChange{}
	for _, c := range all {
		out = append(out, ControlChange{Instant(c.At), c.Actor, string(c.Action), c.Outcome, c.Reason, InstantOrNull(c.Until),
			OrNull(int64(c.Limits.Concurrency)), OrNull(int64(c.Limits.Rate.N)), SpanOrNull(c.Limits.Rate.Per)})
	}
	return out
}
