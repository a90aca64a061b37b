package events

// pending is what the next pass has to look at, under the hub's lock.
type pending struct {
	xids    map[uint64]struct{} // transactions heard of
	jobs    map[int64]struct{}  // jobs to read whatever the transactions say
	gap     bool                // something may have been missed: every watched job
	barrier uint64              // every notification from below it was heard
	changed bool                // for the pulses
}

func (p *pending) add(xid uint64) {
	if p.gap {
		return
	}
	if p.xids == nil {
		p.xids = map[uint64]struct{}{}
	}
	p.xids[xid] = struct{}{}
	if len(p.xids) > maxHeard {
		p.gap, p.xids = true, nil
	}
}

func (p *pending) addJob(job int64) {
	if p.jobs == nil {
		p.jobs = map[int64]struct{}{}
	}
	p.jobs[job] = struct{}{}
}

// forget drops everything: nobody watches.
func (p *pending) forget() {
	*p = pending{changed: p.changed}
}

// sweep is one pass's share of it.
type sweep struct {
	number  uint64
	xids    []uint64
	jobs    []int64 // to read whatever the transactions say
	watched []int64 // every watched job, when xids are to be asked about or all is set
	all     bool    // read every watched job
	gap     bool    // because something may have been missed
	barrier uint64
}

// take hands what is pending to one pass.
func (h *Hub) take() sweep {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pass++
	s := sweep{number: h.pass, gap: h.next.gap, barrier: h.next.barrier}
	heard := len(h.next.xids) > 0
	s.all = s.gap || heard && len(h.jobs) <= fewJobs
	if heard || s.all {
		s.watched = keys(h.jobs)
	}
	if !s.all {
		s.xids, s.jobs = keys(h.next.xids), keys(h.next.jobs)
	}
	h.next.forget()
	return s
}

func keys[K comparable, V any](m map[K]V) []K {
	list := make([]K, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	return list
}
