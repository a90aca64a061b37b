package worker

import "sync/atomic"

type counter = atomic.Int64

type stats struct {
	claimed, completed, failed, released counter
	refused, lost, abandoned, claims     counter
}

// Stats counts what a pool did since it was made.
type Stats struct {
	Claims    int64 // claim calls, empty ones included
	Claimed   int64 // attempts
	Completed int64 // results accepted
	Failed    int64 // failures accepted
	Released  int64 // claims given back
	Refused   int64 // writes that the store refused as stale, renewals included
	Lost      int64 // attempts cancelled because their lease was lost or their job terminated
	Abandoned int64 // outcomes that could not be offered
	Running   int   // handlers now
	Unsettled int   // attempts now whose outcome is not stored, running ones included
}

// Stats may be called at any time; its numbers are not one snapshot.
func (p *Pool) Stats() Stats {
	s := Stats{
		Claims: p.stats.claims.Load(), Claimed: p.stats.claimed.Load(), Completed: p.stats.completed.Load(),
		Failed: p.stats.failed.Load(), Released: p.stats.released.Load(), Refused: p.stats.refused.Load(),
		Lost: p.stats.lost.Load(), Abandoned: p.stats.abandoned.Load(), Running: p.running(),
	}
	s.Unsettled = p.unsettled() - int(s.Abandoned)
	return s
}
