package events

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/fenceline/fenceline/store"
)

// readJobs delivers what is new about jobs. It returns the horizon of its
// first snapshot, below which nothing about these jobs is missing now; 0 when
// nobody watches them any more. A reader that cannot take it ends with
// overflow.
func (h *Hub) readJobs(ctx context.Context, jobs []int64, overflow error) (uint64, error) {
	slices.Sort(jobs)
	var first uint64
	for chunk := range slices.Chunk(slices.Compact(jobs), pageCursors) {
		for _, read := range []reader{h.pageSince, h.pageAfter} {
			horizon, err := h.readPages(ctx, chunk, read, overflow)
			if err != nil {
				return 0, err
			}
			if first == 0 {
				first = horizon
			}
		}
	}
	return first, nil
}

// reader reads one page of what is new about jobs, beginning where the
// cursors that it serves stand; asked is false when there is none of those.
type reader func(ctx context.Context, jobs []int64) (p page, asked bool, err error)

// page is what one query read.
type page struct {
	store.Batch
	jobs  []int64
	known bool // read for the cursors that stand on an id, or for the others
}

// readPages delivers page after page. Each moves a cursor, so it ends.
func (h *Hub) readPages(ctx context.Context, jobs []int64, read reader, overflow error) (first uint64, err error) {
	for {
		p, asked, err := h.timed(ctx, jobs, read)
		if err != nil || !asked {
			return first, err
		}
		if first == 0 {
			first = p.Horizon
		}
		h.deliver(p, overflow)
		if !p.More {
			return first, nil
		}
	}
}

func (h *Hub) timed(ctx context.Context, jobs []int64, read reader) (page, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return read(ctx, jobs)
}

// pageAfter reads behind the ids on which cursors stand. Subscriptions to the
// same job may stand on different ones; the lowest serves them all.
func (h *Hub) pageAfter(ctx context.Context, jobs []int64) (page, bool, error) {
	ask := h.standing(jobs)
	if len(ask) == 0 {
		return page{}, false, nil
	}
	batch, err := h.src.TransitionsAfter(ctx, ask, pageRows)
	if err != nil {
		return page{}, false, fmt.Errorf("read the transitions of %d jobs: %w", len(ask), err)
	}
	return page{Batch: batch, known: true}, true, nil
}

func (h *Hub) standing(jobs []int64) []store.Cursor {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ask []store.Cursor
	for _, job := range jobs {
		lowest, any := int64(0), false
		for _, cur := range h.jobs[job] {
			if cur.known && (!any || cur.after < lowest) {
				lowest, any = cur.after, true
			}
		}
		if any {
			ask = append(ask, store.Cursor{JobID: job, After: lowest})
		}
	}
	return ask
}

// pageSince reads for the cursors that have no id yet.
func (h *Hub) pageSince(ctx context.Context, jobs []int64) (page, bool, error) {
	ask, since := h.unknown(jobs)
	if len(ask) == 0 {
		return page{}, false, nil
	}
	batch, err := h.src.TransitionsSince(ctx, ask, since, pageRows)
	if err != nil {
		return page{}, false, fmt.Errorf("read the transitions of %d jobs: %w", len(ask), err)
	}
	return page{Batch: batch, jobs: ask}, true, nil
}

func (h *Hub) unknown(jobs []int64) (ask []int64, since uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, job := range jobs {
		asked := false
		for _, cur := range h.jobs[job] {
			if cur.known {
				continue
			}
			if since == 0 || cur.since < since {
				since = cur.since
			}
			if !asked {
				ask, asked = append(ask, job), true
			}
		}
	}
	return ask, since
}

// deliver moves the cursors over a page and queues what is new to each
// subscription. One that has no room ends; the others feel nothing.
func (h *Hub) deliver(p page, overflow error) {
	cut := 0
	h.mu.Lock()
	if h.health.line != "" || h.next.gap {
		overflow = ErrTooFar // nobody listened, or did until just now: it was missed
	}
	for sub, list := range h.news(p) {
		if !sub.push(Delivery{Transitions: list, Position: sub.position}, h.cfg.MaxBehind) {
			h.drop(sub, overflow)
			cut++
		}
	}
	h.mu.Unlock()
	if cut > 0 {
		h.cfg.Log.Info("live feed: subscriptions were cut", "reason", overflow, "count", cut)
	}
}

// news is each subscription's share of a page, under the hub's lock.
func (h *Hub) news(p page) map[*Subscription][]store.Transition {
	byJob := map[int64][]store.Transition{}
	for _, t := range p.Transitions {
		byJob[t.JobID] = append(byJob[t.JobID], t)
	}
	news := map[*Subscription][]store.Transition{}
	for job, all := range byJob {
		for sub, cur := range h.jobs[job] {
			if cur.known != p.known {
				continue
			}
			// Clipped, because the array is shared: a second append must copy.
			fresh := slices.Clip(cur.pass(all))
			if have, ok := news[sub]; ok {
				fresh = append(have, fresh...)
			}
			if len(fresh) > 0 {
				news[sub] = fresh
			}
		}
	}
	if !p.known && !p.More {
		h.raise(p.jobs, p.Horizon)
	}
	return news
}

// pass moves the cursor over a job's transitions and returns those that are
// new to it. Ids order one job: what is not above the cursor was delivered.
func (c *cursor) pass(all []store.Transition) []store.Transition {
	if c.known {
		first := sort.Search(len(all), func(i int) bool { return all[i].ID > c.after })
		all = all[first:]
	} else {
		all = slices.DeleteFunc(slices.Clone(all), func(t store.Transition) bool { return t.XID < c.since })
	}
	if len(all) > 0 {
		*c = cursor{known: true, after: all[len(all)-1].ID}
	}
	return all
}

// raise keeps cursors without an id near the present, so that reading for them
// stays cheap: below horizon all was read, and there was nothing.
func (h *Hub) raise(jobs []int64, horizon uint64) {
	for _, job := range jobs {
		for _, cur := range h.jobs[job] {
			if !cur.known && cur.since < horizon {
				cur.since = horizon
			}
		}
	}
}

// advance moves the resume position of every subscription that took part in
// the whole of pass number.
func (h *Hub) advance(number, horizon uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for sub := range h.subs {
		if sub.caughtUp && sub.joined < number && sub.position < horizon {
			sub.position = horizon
			sub.push(Delivery{Position: horizon}, h.cfg.MaxBehind)
		}
	}
}
