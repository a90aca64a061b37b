package detect

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Event is the beginning or the end of an incident in a replay.
type Event struct {
	At      time.Time
	Opened  bool // else it resolved itself after quiet
	Finding Finding
}

// Tick is the time between two looks of a replay.
const Tick = 5 * time.Second

// Replay runs the rules over a recorded log as they would have run while it was
// written, a look every [Tick] of the log's own time, and returns what began and
// ended. What no log holds, such as silent workers, is not found. The order of
// the log does not matter.
func Replay(log []store.Transition, t Thresholds) []Event {
	if len(log) == 0 {
		return nil
	}
	r := newReplay(log)
	type open struct {
		finding Finding
		last    time.Time
	}
	var events []Event
	opened := map[string]*open{}
	end := r.log[len(r.log)-1].At
	for now := r.log[0].At.Truncate(Tick).Add(Tick); ; now = now.Add(Tick) {
		for _, f := range Judge(r.facts(now), t) {
			if o := opened[f.Key()]; o != nil {
				o.last = now
				continue
			}
			opened[f.Key()] = &open{f, now}
			events = append(events, Event{At: now, Opened: true, Finding: f})
		}
		for _, key := range slices.Sorted(maps.Keys(opened)) {
			if o := opened[key]; now.Sub(o.last) >= t.Quiet {
				events = append(events, Event{At: now, Finding: o.finding})
				delete(opened, key)
			}
		}
		if now.After(end) {
			return events
		}
	}
}

// FactsOf are what a log alone tells of a moment.
func FactsOf(log []store.Transition, now time.Time) store.Facts { return newReplay(log).facts(now) }

// replay folds a log into facts, moment after moment.
type replay struct {
	log     []store.Transition // by time
	spans   map[int64]measure  // by id
	next    int
	minutes map[store.Minute]int
	rows    []store.Minute
	jobs    map[int64]*held
	errors  map[[2]string]map[time.Time]*store.ErrorGroup
	lost    []store.Transition
}

// measure is what a transition tells beside its number.
type measure struct {
	marked, timed bool
	span          time.Duration
}

type held struct {
	state       store.State
	kind, queue string
	due, since  time.Time
}

func newReplay(log []store.Transition) *replay {
	r := &replay{log: slices.Clone(log), spans: map[int64]measure{}, minutes: map[store.Minute]int{}, jobs: map[int64]*held{}, errors: map[[2]string]map[time.Time]*store.ErrorGroup{}}
	r.log = slices.DeleteFunc(r.log, func(t store.Transition) bool { return t.Type == store.TypeBaseline })
	slices.SortFunc(r.log, func(a, b store.Transition) int { return cmp.Compare(a.ID, b.ID) })
	before, claims := map[int64]store.Transition{}, map[int64]store.Transition{}
	for _, t := range r.log {
		r.spans[t.ID] = measured(t, before[t.JobID], claims[t.JobID])
		if t.Type != store.TypeRejected {
			before[t.JobID] = t
		}
		if t.Type == store.TypeClaimed {
			claims[t.JobID] = t
		}
	}
	slices.SortStableFunc(r.log, func(a, b store.Transition) int { return a.At.Compare(b.At) })
	return r
}

// measured mirrors what the rollup of the store measures, to the millisecond.
func measured(t, before, claim store.Transition) (m measure) {
	near := func(o store.Transition) bool { return o.ID != 0 && !o.At.After(t.At) && t.At.Sub(o.At) < 24*time.Hour }
	from := time.Time{}
	switch t.Type {
	case store.TypeClaimed:
		m.marked = t.Generation > 1
		if near(before) {
			from = before.At
			if !before.RunAt.IsZero() {
				from = before.RunAt
			}
		}
	case store.TypeRenewed:
		m.marked = near(before) && before.LeaseUntil.Sub(t.At)*4 < t.LeaseUntil.Sub(t.At)
	case store.TypeCompleted, store.TypeFailed, store.TypeExpired:
		if near(claim) && claim.AttemptID == t.AttemptID {
			from = claim.At
		}
	}
	if !from.IsZero() {
		m.timed, m.span = true, max(0, t.At.Sub(from)).Round(time.Millisecond)
	}
	return m
}

// facts goes on to a moment.
func (r *replay) facts(now time.Time) store.Facts {
	for r.next < len(r.log) && !r.log[r.next].At.After(now) {
		r.take(r.log[r.next])
		r.next++
	}
	from := now.Add(-store.FactsWindow).Truncate(time.Minute)
	f := store.Facts{Now: now}
	for _, m := range r.rows {
		if !m.At.Before(from) && m.Queue != store.DrillQueue {
			f.Minutes = append(f.Minutes, m)
		}
	}
	f.Loops, f.Errors = r.loops(now), r.groups(now)
	r.standing(&f)
	return f
}

func (r *replay) take(t store.Transition) {
	minute := t.At.UTC().Truncate(time.Minute)
	name := store.Minute{At: minute, Queue: t.Queue, Kind: t.Kind, Type: t.Type}
	if !t.Type.Operated() {
		name.Reason = t.Reason
	}
	i, known := r.minutes[name]
	if !known {
		i = len(r.rows)
		r.minutes[name], r.rows = i, append(r.rows, name)
	}
	row, m := &r.rows[i], r.spans[t.ID]
	row.N++
	if m.marked {
		row.Marked++
	}
	if m.timed {
		row.Spans, row.Span, row.Longest = row.Spans+1, row.Span+m.span, max(row.Longest, m.span)
	}
	if t.Type == store.TypeExpired && t.Queue != store.DrillQueue {
		r.lost = append(r.lost, t)
	}
	if t.Type == store.TypeFailed && t.Detail.ClassHash != "" && t.Queue != store.NoticeQueue {
		r.failed(t, minute)
	}
	r.change(t)
}

func (r *replay) failed(t store.Transition, minute time.Time) {
	name := [2]string{t.Kind, t.Detail.ClassHash}
	if r.errors[name] == nil {
		r.errors[name] = map[time.Time]*store.ErrorGroup{}
	}
	e := r.errors[name][minute]
	if e == nil {
		e = &store.ErrorGroup{JobID: t.JobID}
		r.errors[name][minute] = e
	}
	e.N, e.JobID = e.N+1, min(e.JobID, t.JobID)
}

func (r *replay) change(t store.Transition) {
	if t.To == "" {
		return
	}
	j := r.jobs[t.JobID]
	if j == nil {
		j = &held{}
		r.jobs[t.JobID] = j
	}
	j.state, j.kind, j.queue = t.To, t.Kind, t.Queue
	switch {
	case t.Type == store.TypeClaimed:
		j.since = t.At
	case !t.RunAt.IsZero():
		j.due = t.RunAt
	case t.Type == store.TypeRequeued || j.due.IsZero():
		j.due = t.At
	}
	if t.To.Terminal() {
		delete(r.jobs, t.JobID)
	}
}

func (r *replay) loops(now time.Time) (out []store.Loop) {
	at := map[int64]int{}
	for _, t := range r.lost {
		if now.Sub(t.At) >= store.FactsWindow {
			continue
		}
		i, known := at[t.JobID]
		if !known {
			i = len(out)
			at[t.JobID], out = i, append(out, store.Loop{JobID: t.JobID, Kind: t.Kind, Queue: t.Queue})
		}
		out[i].Expiries++
		out[i].Last = t.At
	}
	out = slices.DeleteFunc(out, func(l store.Loop) bool { return l.Expiries < 2 })
	slices.SortFunc(out, func(a, b store.Loop) int {
		return cmp.Or(cmp.Compare(b.Expiries, a.Expiries), cmp.Compare(a.JobID, b.JobID))
	})
	return out
}

func (r *replay) groups(now time.Time) (out []store.ErrorGroup) {
	for name, minutes := range r.errors {
		g := store.ErrorGroup{Kind: name[0], Fingerprint: name[1]}
		for at, e := range minutes {
			if g.First.IsZero() || at.Before(g.First) {
				g.First = at
			}
			if now.Sub(at) >= store.FactsWindow {
				continue
			}
			if g.N == 0 || e.JobID < g.JobID {
				g.JobID = e.JobID
			}
			g.N += e.N
		}
		if g.N > 0 {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b store.ErrorGroup) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return out
}

// standing tells what waits and what runs.
func (r *replay) standing(f *store.Facts) {
	waiting, running := map[string]time.Time{}, map[string]store.RunningJob{}
	for id, j := range r.jobs {
		if j.queue == store.DrillQueue {
			continue
		}
		switch j.state {
		case store.Available:
			if due, known := waiting[j.queue]; !known || j.due.Before(due) {
				waiting[j.queue] = j.due
			}
		case store.Running:
			was, known := running[j.kind]
			if !known || j.since.Before(was.Since) || j.since.Equal(was.Since) && id < was.JobID {
				running[j.kind] = store.RunningJob{JobID: id, Kind: j.kind, Queue: j.queue, Since: j.since}
			}
		}
	}
	for _, queue := range slices.Sorted(maps.Keys(waiting)) {
		f.Waiting = append(f.Waiting, store.QueueWait{Queue: queue, Oldest: max(0, f.Now.Sub(waiting[queue]))})
	}
	for _, kind := range slices.Sorted(maps.Keys(running)) {
		f.Running = append(f.Running, running[kind])
	}
}
