// Package detect says what is wrong, by rules. A rule is a pure function of
// [store.Facts] and of thresholds: it keeps nothing between two looks, so that
// the same log gives the same findings, live or replayed.
package detect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	Low    Severity = "low"    // worth a look by day
	Medium Severity = "medium" // work is late or lost time
	High   Severity = "high"   // somebody should act now
)

// Finding is one thing that is wrong now.
type Finding struct {
	Rule     string // the name of a [Rule]
	Scope    string // what it is about: empty for everything, or "kind report", "queue mail", "job 7"
	Severity Severity
	What     string       // a sentence with the numbers
	N        int64        // how many transitions, jobs or workers it is told from
	Job      int64        // one of its jobs; 0 when none is named
	Search   string       // finds its jobs; empty where no search does
	Types    []store.Type // the transitions that are its evidence; none for what the log does not hold
	Kind     string       // of the evidence; empty for any
	Queue    string       // likewise
	Error    string       // the fingerprint of its errors
	Broken   bool         // its evidence are violations that were found in the log
}

// Key names the finding among those of all times: a rule and what it is about.
func (f Finding) Key() string { return f.Rule + " " + f.Scope }

// Sighting is the finding as incidents are made of it.
func (f Finding) Sighting() store.Sighting {
	return store.Sighting{Rule: f.Rule, Scope: f.Scope, Severity: string(f.Severity), What: f.What, N: f.N, Job: f.Job,
		Search: f.Search, Kind: f.Kind, Queue: f.Queue, Fingerprint: f.Error, Types: f.Types, Broken: f.Broken}
}

// Rule is one way in which something can be wrong.
type Rule struct {
	Name  string
	Title string // in a few words
	Means string // what it means
	Do    string // what to do
	judge func(store.Facts, Thresholds) []Finding
}

// Rules lists every rule.
var Rules = []Rule{
	{store.RuleBroken, "The log holds what no correct one can", "A write was recorded that the protocol does not allow: an attempt without authority may have changed a result. This must never happen.", "Run fenceline verify and keep its output; do not touch the rows. Find out what else writes to schema fenceline, and report it.", brokenPromise},
	{"expiry-spike", "Leases expired together", "Several attempts stopped renewing within minutes: their process died, was paused, or lost the database.", "Look at the workers that are lost and at their machines; the jobs are given to others by themselves.", expirySpike},
	{"refused-writes", "Late writes were refused", "An attempt came back after it had lost its job, and its write was refused: no result was changed.", "Find out what made the worker late: a paused container, swapping, a clock, the network. Check effects outside the database.", refusedWrites},
	{"crash-loop", "A job loses its lease again and again", "Each attempt of this job ends without a word: it probably kills its worker.", "Look at the job's args and at its worker's log; terminate it if it harms others.", crashLoop},
	{"lease-too-short", "Lease too short for the work", "Renewals arrive shortly before the deadline: an ordinary delay will cost the job.", "Give the kind a longer lease, or the worker more room: it is short of processor time or database connections.", leaseTooShort},
	{"failure-rate", "More attempts fail than before", "The share of failed attempts of this kind rose well above the hour before.", "Look at the newest errors of the kind; if something it depends on is down, pause the kind.", failureRate},
	{"new-error", "A new sort of error", "Attempts fail with an error that was not seen before, for as long as counts are kept.", "Look at the error on the job's page; a release or something it depends on probably changed.", newError},
	{"retry-storm", "Most claims are retries", "Most of what is claimed has been tried before: retries take the place of new work.", "Find what fails first. Pause the kind, or lower its limit, until it is mended.", retryStorm},
	{"backlog", "Work waits longer than its objective", "The job that is due longest in this queue waits for more than it should.", "Start more workers for the queue, or find what holds theirs; pause what matters less.", backlog},
	{"stuck-job", "A job runs far longer than its kind", "Its attempt renews its lease and does not end: the handler probably hangs.", "Look at its lane; requeue it to take it from that attempt, and give its kind a timeout.", stuckJob},
	{"lost-workers", "Workers went silent", "Workers stopped saying that they live, and did not say that they ended.", "Look at their machines. Their jobs are taken from them when the leases end.", lostWorkers},
	{store.RuleUndelivered, "Notices do not arrive", "Who should hear of incidents through this target does not. The others are told; the target itself is not told of this.", "Look at the errors on the job's page: the target's address, its secrets, or the other side. Then send it a test.", undeliveredNotices},
	{"counting-behind", "The log is not counted", "Nothing counts the log, or something holds it back: numbers past that are provisional.", "Run fenceline doctor: it names the oldest open transaction.", countingBehind},
}

// Find returns a rule by its name.
func Find(name string) (Rule, bool) {
	for _, r := range Rules {
		if r.Name == name {
			return r, true
		}
	}
	return Rule{}, false
}

// Judge applies every rule. Findings are in the order of their keys.
func Judge(f store.Facts, t Thresholds) []Finding {
	var all []Finding
	for _, r := range Rules {
		for _, found := range r.judge(f, t) {
			found.Rule = r.Name
			all = append(all, found)
		}
	}
	slices.SortFunc(all, func(a, b Finding) int { return cmp.Compare(a.Key(), b.Key()) })
	return all
}

// tally sums the counts of the minutes since a time that a test lets pass, by a
// name for each.
type tally struct {
	n, marked, spans int64
	span             time.Duration
}

func sum(f store.Facts, back, from time.Duration, name func(store.Minute) (string, bool)) map[string]tally {
	out := map[string]tally{}
	for _, m := range f.Minutes {
		if age := f.Now.Sub(m.At); age >= back+time.Minute || age < from {
			continue
		}
		if key, counts := name(m); counts {
			t := out[key]
			t.n, t.marked, t.spans, t.span = t.n+m.N, t.marked+m.Marked, t.spans+m.Spans, t.span+m.Span
			out[key] = t
		}
	}
	return out
}

func of(what store.Type) func(store.Minute) (string, bool) {
	return func(m store.Minute) (string, bool) { return m.Kind, m.Type == what }
}

// counted tells a number of things, as "1 lease" or "7 leases".
func counted(n int64, one string) string {
	if n != 1 {
		one += "s"
	}
	return fmt.Sprintf("%d %s", n, one)
}

// was is the verb that goes with a number of things.
func was(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// span is a time without what it has none of: "5m" and not "5m0s".
func span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func minutes(d time.Duration) string { return fmt.Sprintf("%d minutes", int(d/time.Minute)) }
