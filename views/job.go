package views

import (
	"time"

	"github.com/fenceline/fenceline/store"
)

// leaseLength is how long the running attempt's lease was when it was granted
// last; zero when the log does not say.
func leaseLength(v store.JobView) time.Duration {
	l := lastLane(v)
	if l == nil {
		return 0
	}
	granted := l.ClaimedAt
	if n := len(l.Renewals); n > 0 {
		granted = l.Renewals[n-1]
	}
	return v.Job.LeaseUntil.Sub(granted)
}

// lanesID names the part that shows the lanes. A page that shows them in its
// own way keeps them apart from the patches of the stream and reads itself
// again instead.
func lanesID(p JobPage) string {
	if p.Zoom != 0 || p.Full {
		return p.part("lanes") + "-own"
	}
	return p.part("lanes")
}

func transitionsID(p JobPage) string {
	if p.Full {
		return p.part("transitions") + "-own"
	}
	return p.part("transitions")
}

// part names a part of one job's page. The stream of a browser carries the
// patches of every job that any of its tabs shows, so the job is in the name.
func (p JobPage) part(name string) string {
	return "job-" + decimal(p.View.Job.ID) + "-" + name
}

// refetch names the patch on which a part that shows its own way reads the
// page again; empty where the patch itself is for it.
func (p JobPage) refetch(name string, own bool) string {
	if !own {
		return ""
	}
	return p.part(name)
}

// orNothing returns a JSON text or, for none, a word that is not JSON.
func orNothing(raw []byte) string {
	if len(raw) == 0 {
		return "none"
	}
	text, _ := PrettyJSON(raw)
	return text
}
