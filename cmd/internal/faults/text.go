package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String is the outcome for a person.
func (o *Outcome) String() string {
	if o.Lacking != "" {
		return fmt.Sprintf("%s: not run: %s", o.Scene, o.Lacking)
	}
	v := o.Verdict
	var b strings.Builder
	fmt.Fprintf(&b, "%s, seed %d: %d faults in %.0f s, all work done %.0f s later\n", o.Scene, o.Seed, o.Total, o.Seconds, o.Drained)
	for _, name := range slices.Sorted(maps.Keys(o.Faults)) {
		fmt.Fprintf(&b, "  %5d  %s\n", o.Faults[name], name)
	}
	fmt.Fprintf(&b, "%d acknowledged, %d lost; %d results, %d doubled; %d writes of attempts accepted, %d of them stale; %d invariants broken\n",
		v.Acknowledged, v.Lost, v.Results, v.Doubled, v.Writes, v.Stale, v.Invariants)
	fmt.Fprintf(&b, "%d stale writes made on purpose, %d refused, %d on record; %d refusals on record in all\n", v.StaleMade, v.StaleRefused, v.StaleRecorded, v.Refused)
	fmt.Fprintf(&b, "%d commits without an answer, %d resolved rightly %v\n", v.CutsTotal, v.CutsRight, v.Cuts)
	fmt.Fprintf(&b, "%d transitions shown, %d missed, %d twice, %d subscriptions resumed\n", v.Shown, v.Missed, v.Twice, v.Resumed)
	fmt.Fprintf(&b, "%d outside effects repeated; %d answers asked for again\n", v.Repeats, v.Unsure)
	for _, text := range v.Wrongs {
		fmt.Fprintf(&b, "  wrong: %s\n", text)
	}
	return b.String()
}
