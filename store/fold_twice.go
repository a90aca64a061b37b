package store

// MaybeTwice tells whether effects outside the database may have happened
// twice: first is the newest attempt that lost the job, or was interrupted,
// without saying what it had done, and again the newest that worked after it.
// Both are generations, 0 when the log holds no such pair. An attempt that
// failed has spoken for itself and is not counted.
func (h *History) MaybeTwice() (first, again int64) {
	var lost int64
	for _, l := range h.Lanes {
		if l.ClaimedAt.IsZero() || l.Unstarted {
			continue
		}
		if lost != 0 {
			first, again = lost, l.Generation
		}
		switch l.End {
		case EndExpired, EndReleased, EndRequeued, EndTerminated:
			lost = l.Generation
		}
	}
	return first, again
}
