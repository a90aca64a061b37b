package detect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

const (
	shortWindow = 5 * time.Minute
	longWindow  = 15 * time.Minute
)

// brokenPromise has no threshold: one is too many.
func brokenPromise(f store.Facts, _ Thresholds) []Finding {
	b := f.Broken
	if b.N == 0 {
		return nil
	}
	v := b.Newest
	return []Finding{{Severity: High, N: b.N, Job: v.JobID, Search: fmt.Sprintf("id:%d", v.JobID), Broken: true,
		What: fmt.Sprintf("%s %s found in the log; writes of attempts without authority that were accepted: %d. Transition %d of job %d breaks %s: %s.", counted(b.N, "violation"), was(b.N), b.Stale, v.Transition, v.JobID, v.Invariant, v.Message)}}
}

func expirySpike(f store.Facts, t Thresholds) []Finding {
	all := sum(f, shortWindow, 0, func(m store.Minute) (string, bool) { return "", m.Type == store.TypeExpired })[""]
	if all.n < t.Expiries {
		return nil
	}
	return []Finding{{Severity: High, N: all.n, Types: []store.Type{store.TypeExpired}, Search: "lost:>-15m",
		What: fmt.Sprintf("%s expired within %s.", counted(all.n, "lease"), minutes(shortWindow))}}
}

// refusedWrites leaves out what operators caused: they know.
func refusedWrites(f store.Facts, t Thresholds) (out []Finding) {
	late := sum(f, longWindow, 0, func(m store.Minute) (string, bool) {
		return m.Kind, m.Type == store.TypeRejected && (m.Reason == string(store.ReasonSuperseded) || m.Reason == string(store.ReasonLeaseExpired))
	})
	for _, kind := range slices.Sorted(maps.Keys(late)) {
		if n := late[kind].n; n >= t.Refusals {
			out = append(out, Finding{Scope: "kind " + kind, Kind: kind, Severity: Medium, N: n, Types: []store.Type{store.TypeRejected},
				Search: "late:>-15m kind:" + quoted(kind), What: fmt.Sprintf("%s of kind %s %s refused within %s; none was accepted.", counted(n, "late write"), kind, was(n), minutes(longWindow))})
		}
	}
	return out
}

func crashLoop(f store.Facts, t Thresholds) (out []Finding) {
	for _, l := range f.Loops {
		if l.Expiries >= t.Loops {
			out = append(out, Finding{Scope: fmt.Sprintf("job %d", l.JobID), Kind: l.Kind, Queue: l.Queue, Severity: High, N: l.Expiries, Job: l.JobID,
				Types: []store.Type{store.TypeExpired}, Search: fmt.Sprintf("id:%d", l.JobID),
				What: fmt.Sprintf("Job %d of kind %s lost its lease %s within an hour.", l.JobID, l.Kind, counted(l.Expiries, "time"))})
		}
	}
	return out
}

func leaseTooShort(f store.Facts, t Thresholds) (out []Finding) {
	renewed := sum(f, longWindow, 0, of(store.TypeRenewed))
	for _, kind := range slices.Sorted(maps.Keys(renewed)) {
		r := renewed[kind]
		if r.marked < t.LateRenewals || r.marked*100 < r.n*t.LateShare {
			continue
		}
		out = append(out, Finding{Scope: "kind " + kind, Kind: kind, Severity: Medium, N: r.marked, Types: []store.Type{store.TypeRenewed},
			Search: "kind:" + quoted(kind) + " state:running",
			What:   fmt.Sprintf("%d of %d renewals of kind %s came in the last quarter of the lease, within %s.", r.marked, r.n, kind, minutes(longWindow))})
	}
	return out
}

// failureRate and retryStorm leave out notices, which have a rule of their own: an
// incident for each way in which a target fails would be one more notice for it.
func failureRate(f store.Facts, t Thresholds) (out []Finding) {
	fails := func(m store.Minute) (string, bool) {
		return m.Kind, m.Queue != store.NoticeQueue && m.Type == store.TypeFailed
	}
	ends := func(m store.Minute) (string, bool) {
		return m.Kind, m.Queue != store.NoticeQueue && (m.Type == store.TypeFailed || m.Type == store.TypeCompleted)
	}
	failed, all := sum(f, shortWindow, 0, fails), sum(f, shortWindow, 0, ends)
	before, allBefore := sum(f, store.FactsWindow, shortWindow+time.Minute, fails), sum(f, store.FactsWindow, shortWindow+time.Minute, ends)
	for _, kind := range slices.Sorted(maps.Keys(failed)) {
		n, of, was, ofWas := failed[kind].n, all[kind].n, before[kind].n, allBefore[kind].n
		// Twice the share of before: n/of >= 2*was/ofWas, without dividing by none.
		if n < t.Failures || n*100 < of*t.FailedShare || ofWas > 0 && n*ofWas < 2*was*of {
			continue
		}
		out = append(out, Finding{Scope: "kind " + kind, Kind: kind, Severity: High, N: n, Types: []store.Type{store.TypeFailed},
			Search: "kind:" + quoted(kind) + " state:retryable,discarded",
			What:   fmt.Sprintf("%d of %d attempts of kind %s failed within %s; in the hour before it were %d of %d.", n, of, kind, minutes(shortWindow), was, ofWas)})
	}
	return out
}

func newError(f store.Facts, t Thresholds) (out []Finding) {
	for _, e := range f.Errors {
		if e.N < t.NewErrors || f.Now.Sub(e.First) > longWindow {
			continue
		}
		out = append(out, Finding{Scope: "kind " + e.Kind + " error " + e.Fingerprint, Kind: e.Kind, Error: e.Fingerprint, Severity: Medium, N: e.N, Job: e.JobID, Types: []store.Type{store.TypeFailed},
			Search: "kind:" + quoted(e.Kind) + " state:retryable,discarded",
			What:   fmt.Sprintf("%s of kind %s with an error of a new sort, as on job %d.", counted(e.N, "failure"), e.Kind, e.JobID)})
	}
	return out
}

func retryStorm(f store.Facts, t Thresholds) (out []Finding) {
	claims := sum(f, shortWindow, 0, func(m store.Minute) (string, bool) {
		return m.Queue, m.Queue != store.NoticeQueue && m.Type == store.TypeClaimed
	})
	for _, queue := range slices.Sorted(maps.Keys(claims)) {
		c := claims[queue]
		if c.marked < t.Retries || c.marked*100 < c.n*t.RetryShare {
			continue
		}
		out = append(out, Finding{Scope: "queue " + queue, Queue: queue, Severity: Medium, N: c.marked, Types: []store.Type{store.TypeClaimed},
			Search: "queue:" + quoted(queue) + " attempts:>1",
			What:   fmt.Sprintf("%d of %d claims of queue %s were of jobs that had been tried before, within %s.", c.marked, c.n, queue, minutes(shortWindow))})
	}
	return out
}

func backlog(f store.Facts, t Thresholds) (out []Finding) {
	for _, w := range f.Waiting {
		objective, own := t.Objectives[w.Queue]
		if !own {
			objective = t.Objective
		}
		if w.Paused || objective <= 0 || w.Oldest <= objective {
			continue
		}
		out = append(out, Finding{Scope: "queue " + w.Queue, Queue: w.Queue, Severity: Medium, Search: "queue:" + quoted(w.Queue) + " state:available",
			What: fmt.Sprintf("A job of queue %s has been due for more than %s and is not claimed.", w.Queue, span(objective))})
	}
	return out
}

// stuckJob compares with what attempts of the kind took within the hour.
func stuckJob(f store.Facts, t Thresholds) (out []Finding) {
	took := sum(f, store.FactsWindow, 0, of(store.TypeCompleted))
	for _, j := range f.Running {
		usual := took[j.Kind]
		if usual.spans < t.StuckKnown {
			continue
		}
		mean := usual.span / time.Duration(usual.spans)
		limit := max(t.StuckLeast, mean*time.Duration(t.StuckTimes))
		if f.Now.Sub(j.Since) <= limit {
			continue
		}
		out = append(out, Finding{Scope: fmt.Sprintf("job %d", j.JobID), Kind: j.Kind, Queue: j.Queue, Severity: Medium, N: 1, Job: j.JobID, Search: fmt.Sprintf("id:%d", j.JobID),
			What: fmt.Sprintf("Job %d of kind %s has been running for more than %s; results of its kind took %s on average.", j.JobID, j.Kind, span(limit.Round(time.Second)), mean.Round(time.Millisecond))})
	}
	return out
}

func undeliveredNotices(f store.Facts, t Thresholds) (out []Finding) {
	for _, u := range f.Undelivered {
		if u.Failed < t.Undelivered && !u.GivenUp {
			continue
		}
		what := fmt.Sprintf("Notices to target %s do not arrive: %s failed since one did", u.Target, counted(u.Failed, "attempt"))
		if u.GivenUp {
			what += ", and a message was given up"
		}
		out = append(out, Finding{Scope: store.UndeliveredScope(u.Target), Queue: store.NoticeQueue, Severity: High, N: max(1, u.Failed), Job: u.JobID,
			Types: []store.Type{store.TypeFailed}, Search: fmt.Sprintf("id:%d", u.JobID), What: what + "."})
	}
	return out
}

func lostWorkers(f store.Facts, t Thresholds) []Finding {
	var names []string
	for _, w := range f.Silent {
		if f.Now.Sub(w.Seen) <= store.FactsWindow {
			names = append(names, w.ID)
		}
	}
	n := int64(len(names))
	if n < t.LostWorkers {
		return nil
	}
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	return []Finding{{Severity: Medium, N: n, What: fmt.Sprintf("%s went silent within an hour: %s.", counted(n, "worker"), strings.Join(names, ", "))}}
}

func countingBehind(f store.Facts, t Thresholds) []Finding {
	if f.Behind <= t.Behind {
		return nil
	}
	return []Finding{{Severity: Low, What: fmt.Sprintf("For more than %s nothing has counted the log.", span(t.Behind))}}
}

// quoted writes a name as the search language reads it.
func quoted(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}
