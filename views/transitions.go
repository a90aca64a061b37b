package views

import (
	"time"

	"github.com/fenceline/fenceline/store"
)

// row is a line of the table of transitions: one transition, or a run of
// renewals by one attempt.
type row struct {
	store.Transition
	Renewals []store.Transition // two or more where renewals were folded
}

// rowID names the row in the page. A fold keeps the name of its first renewal
// while it grows.
func (r row) rowID() string { return "t-" + decimal(r.ID) }

// foldRows joins each unbroken run of renewals by one attempt. A run is a part of
// what it is given: a job may have been renewed thousands of times.
func foldRows(all []store.Transition) []row {
	out := make([]row, 0, min(len(all), 256))
	began := 0 // the place in all of the row that is last in out
	for i, t := range all {
		if n := len(out) - 1; n >= 0 && sameRenewals(out[n], t) {
			out[n].Renewals = all[began : i+1]
			continue
		}
		out, began = append(out, row{Transition: t}), i
	}
	return out
}

func sameRenewals(r row, t store.Transition) bool {
	return r.Type == store.TypeRenewed && t.Type == store.TypeRenewed && r.AttemptID == t.AttemptID
}

const (
	newestRows   = 60   // rows shown unless all are asked for
	mostRows     = 5000 // rows shown at the very most
	listRenewals = 40   // renewals of a fold that are listed, newest last
)

// shownRows returns the newest rows and how many earlier ones are left out.
func shownRows(all []row, full bool) (shown []row, hidden int) {
	most := newestRows
	if full {
		most = mostRows
	}
	if len(all) <= most {
		return all, 0
	}
	return all[len(all)-most:], len(all) - most
}

// time is what the row's first column shows: of a baseline, up to when what it
// stands for was removed.
func (r row) time() time.Time {
	switch {
	case len(r.Renewals) > 1:
		return r.lastRenewal().At
	case r.Type == store.TypeBaseline && !r.Detail.Before.IsZero():
		return r.Detail.Before
	}
	return r.At
}

// lastRenewal is the newest of a fold.
func (r row) lastRenewal() store.Transition { return r.Renewals[len(r.Renewals)-1] }

// listed returns the renewals of a fold that its details list, and how many
// earlier ones they leave out.
func (r row) listed() (list []store.Transition, hidden int) {
	n := len(r.Renewals)
	if n <= listRenewals {
		return r.Renewals, 0
	}
	return r.Renewals[n-listRenewals:], n - listRenewals
}

// largestGap is the longest time between two renewals of a fold.
func (r row) largestGap() time.Duration {
	at := make([]time.Time, len(r.Renewals))
	for i, t := range r.Renewals {
		at[i] = t.At
	}
	return largestInterval(at)
}

// note says what a transition's own columns add, in words.
func note(t store.Transition) string {
	switch t.Type {
	case store.TypeClaimed:
		return "lease " + leaseText(t) + ", attempt " + decimal(int64(t.Attempts)) + " of " + decimal(int64(t.MaxAttempts))
	case store.TypeRejected:
		return offeredNote(t)
	case store.TypeReleased:
		if t.Detail.Unstarted {
			return "had not begun, so it is not charged"
		}
	case store.TypeCompleted:
		return followUpNote(t.Detail)
	case store.TypeBaseline:
		return "stands for " + Plural(int64(t.Detail.Count), "earlier transition") + ", since removed"
	case store.TypeRequeued, store.TypeAmended:
		return argsNote(t.Detail)
	case store.TypeErased:
		return "arguments, result and texts are gone"
	case store.TypeFailed, store.TypeExpired:
		return "now " + string(t.To)
	}
	return ""
}

// argsNote tells of other args.
func argsNote(d store.Detail) string {
	switch {
	case d.ArgsVersion == 0:
		return ""
	case d.Restored != 0:
		return "with the arguments of version " + decimal(d.Restored) + " again, now version " + decimal(d.ArgsVersion)
	}
	return "with other arguments, version " + decimal(d.ArgsVersion)
}

// amendment is one thing that an operator changed.
type amendment struct {
	what, was, now string
	from, to       time.Time // of a time
}

// amendments lists what a transition changed of a job's conditions.
func amendments(t store.Transition) []amendment {
	if t.Type != store.TypeAmended {
		return nil
	}
	var out []amendment
	d := t.Detail
	if d.Priority != nil && d.PriorityWas != nil {
		out = append(out, amendment{what: "priority", was: decimal(int64(*d.PriorityWas)), now: decimal(int64(*d.Priority))})
	}
	if d.QueueWas != "" {
		out = append(out, amendment{what: "queue", was: d.QueueWas, now: t.Queue})
	}
	if !d.RunAtWas.IsZero() {
		out = append(out, amendment{what: "due", from: d.RunAtWas, to: t.RunAt})
	}
	if d.BudgetWas != 0 {
		out = append(out, amendment{what: "attempts", was: decimal(int64(d.BudgetWas)), now: decimal(int64(t.MaxAttempts))})
	}
	if d.TagAdded != "" {
		out = append(out, amendment{what: "tag added", now: d.TagAdded})
	}
	if d.TagRemoved != "" {
		out = append(out, amendment{what: "tag removed", now: d.TagRemoved})
	}
	return out
}

func leaseText(t store.Transition) string {
	if t.Detail.LeaseMS > 0 {
		return Span(time.Duration(t.Detail.LeaseMS) * time.Millisecond)
	}
	return Span(t.LeaseUntil.Sub(t.At))
}

func offeredNote(t store.Transition) string {
	text := string(t.Op) + ", offered " + decimal(t.Generation)
	if t.Detail.Current != 0 {
		text += ", current " + decimal(t.Detail.Current)
	}
	return text
}

func followUpNote(d store.Detail) string {
	if d.FollowUps == 0 && d.Linked == 0 {
		return ""
	}
	text := Plural(int64(d.FollowUps), "follow-up")
	if d.Linked > 0 {
		text += ", " + decimal(int64(d.Linked)) + " existed already"
	}
	return text
}
