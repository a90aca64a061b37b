package proof

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store/proof/mutant"
)

// A counterexample is what a person has to understand: of a store whose
// claims lock nothing, no more is left than a claim and what it ran into.
func TestACounterexampleIsShrunkToWhatMattersAndShownAsATimeline(t *testing.T) {
	var double mutant.Mutant
	for _, m := range mutant.All {
		if m.Rule == "claim: locks the row" {
			double = m
		}
	}
	stage := mutated(t, double, new(atomic.Int64))
	long := failing(t, stage, noOrder, 12)
	h, err := stage.Shrink(t.Context(), long, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	text := h.Timeline()
	t.Logf("%d steps became %d\n%s", long.Script.Steps(), h.Script.Steps(), text)
	if n := h.Script.Steps(); n > 8 || 2*n > long.Script.Steps() {
		t.Errorf("%d steps are left", n)
	}
	for _, want := range []string{"broken: ", "claim as A", "the longest order that the protocol allows", "where none of the calls that are left can follow", "on record", "the row: "} {
		if !strings.Contains(text, want) {
			t.Errorf("the timeline does not say %q", want)
		}
	}
}

// failing plays histories until one of so many steps fails first in that way.
func failing(t *testing.T, stage *Stage, way string, steps int) *History {
	t.Helper()
	for next := uint64(0); next < 4000; {
		report, err := Run(t.Context(), []*Stage{stage}, seed(t), next, Length{Histories: 2000})
		if err != nil || report.Failure == nil {
			t.Fatalf("%d histories found nothing: %v", report.Histories, err)
		}
		if h := report.Failure; h.ways()[0] == way && h.Script.Steps() >= steps {
			return h
		}
		next = report.Failure.Script.Index + 1
	}
	t.Fatalf("no history failed in this way: %s", way)
	return nil
}

func TestAScriptIsTheSameForTheSameSeed(t *testing.T) {
	for i := range uint64(200) {
		a, b := NewScript(1, i), NewScript(1, i)
		if a.Steps() != b.Steps() || a.Request != b.Request || a.Copies != b.Copies {
			t.Fatalf("script %d: %d and %d steps", i, a.Steps(), b.Steps())
		}
		for client := range a.Clients {
			for n := range a.Clients[client] {
				if a.Clients[client][n] != b.Clients[client][n] {
					t.Fatalf("script %d: %s takes %v and %v", i, who[client], a.Clients[client][n], b.Clients[client][n])
				}
			}
		}
	}
}
