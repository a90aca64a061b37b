package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fenceline/fenceline/store"
)

// work bounds what a step may cost, counted and not timed: a base, and what
// each member of the batch adds.
type work struct{ rows, rowsEach, buffers, buffersEach float64 }

const (
	planRunningNow = planRunning + 700 // with what the steps leave behind
	planSearch     = store.SearchBound + 100
)

// planDead is what dead entries of an index may add, which the rounds before
// left and which a server under load has not removed yet.
const planDead = 5000

var planBounds = map[string]work{
	"claim":      {20, 2, planDead, 45},
	"renew":      {20, 2, planDead, 26},
	"complete":   {20, 2, planDead, 36},
	"refused":    {20, 2, planDead, 26},
	"superseded": {20, 8, planDead, 60}, // looks its own end up in the log, one day's partition after the other
	"repeated":   {20, 2, planDead, 8},
	"release":    {20, 2, planDead, 36},
	"fail":       {20, 2, planDead, 36},
	"expire":     {planRunningNow, 2, planDead, 45}, // looks at every running job
	"promote":    {20, 2, planDead, 24},
	"home":       {store.ProvisionalBound + 100, 0, 8 * planDead, 0}, // what is not counted yet
	"figures":    {100, store.CountBound, 8 * planDead, 0},           // one count for each state
	"roll":       {3 * store.RollMost, 0, 20 * planDead, 0},          // one more look for each transition that it measures
	"check":      {3 * store.VerifyMost, 0, 20 * planDead, 0},        // the last of its job before each, and its last change
	"sample":     {store.CountBound + 100, 0, 16 * planDead, 0},
	"past":       {3 * store.ProvisionalBound, 0, 60 * planDead, 0},
	"incidents":  {300, 0, planDead, 0},
	"tell":       {300, 0, planDead, 0},
	"report":     {3 * planSearch, 0, 12 * planSearch, 0},
	"facts":      {3 * store.ProvisionalBound, 0, 60 * planDead, 0},
	"minutes":    {3 * store.ProvisionalBound, 0, 60 * planDead, 0},
	"next due":   {20, 0, planDead, 0},
	"list":       {200, 0, planDead, 0},
	"search":     {planSearch, 0, planSearch, 0},
	"probe":      {2 * planSearch, 0, 8 * planSearch, 0}, // looks a job up for each that lost something
	"count":      {2 * planSearch, 0, 8 * planSearch, 0},
	"known":      {2100, 0, planDead, 0},
	"view":       {100, 0, planDead, 0},
	"after":      {20, 4, planDead, 30},
	"of":         {1200, 0, planDead, 0},
	"since":      {100, 0, planDead, 0},
	"operate":    {store.MaxArgsVersions, 0, planDead, 0},
	"preview":    {planSearch, 2, 8 * planSearch, 40},
	"operation":  {400, 0, planDead, 0},
	"step":       {20, 4, planDead, 60},
	"audit":      {20100, 0, 8 * planDead, 0},
	"queues":     {store.RecentBound + 100, 0, 16 * planDead, 0},
	"queue":      {store.RecentBound + 100, 0, 16 * planDead, 0},
	"heads":      {300, 0, planDead, 0},
	"prospects":  {20, 0, planDead, 0},
	"workers":    {store.CountBound + 100, 0, 2 * planDead, 0},
	"worker":     {store.RecentBound + 100, 0, 16 * planDead, 0},
	"beat":       {20, 0, 200, 0},
	"control":    {20, 0, 200, 0},
}

// No statement looks at more than what it is about: not at the finished jobs,
// not at each member once for each member, whatever the statistics say and
// whichever plan the server keeps.
func TestTheCostOfAStatementDoesNotGrowWithWhatIsFinished(t *testing.T) {
	f := open(t)
	f.crowd()
	step, n, statistics := "", 0, ""
	seen := map[string]int{}
	s := f.planned(func(sql string, generic bool, p plan) {
		bound, known := planBounds[step]
		if !known {
			t.Fatalf("no bound is stated for %q", step)
		}
		seen[step]++
		buffers := p.Hit + p.Read
		var wrong []string
		p.walk(func(node plan) {
			if node.NodeType == "ModifyTable" {
				buffers += node.Hit + node.Read
			}
			if node.NodeType == "Seq Scan" && node.Relation != "" {
				wrong = append(wrong, "scans all of "+node.Relation)
			}
			if most := bound.rows + bound.rowsEach*float64(n); node.looked() > most {
				wrong = append(wrong, fmt.Sprintf("%s %s%s%s looks at %.0f rows, at most %.0f are stated", node.NodeType, node.Relation, node.CTE, node.Index, node.looked(), most))
			}
		})
		if most := bound.buffers + bound.buffersEach*float64(n); buffers > most {
			wrong = append(wrong, fmt.Sprintf("%.0f buffers, at most %.0f are stated", buffers, most))
		}
		if len(wrong) > 0 {
			t.Errorf("%s of %d, statistics %s, generic %v: %s\n%s\n%s", step, n, statistics, generic, strings.Join(wrong, "; "), sql, p.tree("  "))
		}
	})
	for _, statistics = range []string{"of tables never analyzed", "of empty tables", "of a few waiting jobs", "of nothing but finished jobs", "fresh"} {
		// By itself it leaves the entries of indexes where few rows are dead.
		f.vacuum("(index_cleanup on)")
		switch statistics {
		case "of tables never analyzed":
			f.forget(-1)
		case "of empty tables":
			f.forget(0)
		case "of a few waiting jobs":
			f.remember("state = 'available'", 300)
		case "of nothing but finished jobs":
			f.remember("state = 'completed'", 300)
		case "fresh":
			f.exec("analyze fenceline.jobs, fenceline.transitions")
		}
		f.everything(s, func(name string, members int) { step, n = name, members })
	}
	for name := range planBounds {
		if seen[name] == 0 {
			t.Errorf("no statement of %q was looked at", name)
		}
	}
}
