package faults

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(RoleVariable); role != "" {
		os.Exit(Play(role))
	}
	goleak.VerifyTestMain(m)
}

// newStage plays with FAULTS_SEED, or a fresh seed that is printed.
func newStage(t *testing.T) *Stage {
	t.Helper()
	seed := rand.Uint64N(1_000_000_000)
	if named := os.Getenv("FAULTS_SEED"); named != "" {
		n, err := strconv.ParseUint(named, 10, 64)
		if err != nil {
			t.Fatalf("FAULTS_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("FAULTS_SEED=%d", seed)
	return &Stage{Program: []string{os.Args[0], "-test.run=^$"}, Seed: seed, Log: t.Logf}
}

func play(t *testing.T, s Scene) *Outcome {
	t.Helper()
	o, err := newStage(t).Play(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if o.Lacking != "" {
		t.Skipf("%s was not played: %s", o.Scene, o.Lacking)
	}
	t.Logf("%s", o)
	return o
}

// A machine that is too slow for the whole of a goal does what it can within
// usually, and says so.
const usually = 50 * time.Second

func wantReached(t *testing.T, o *Outcome, g Goal) {
	t.Helper()
	for _, c := range []struct {
		what       string
		have, goal int
	}{
		{"faults", o.Total, g.Faults}, {"stale writes made on purpose", o.Verdict.StaleMade, g.Stale},
		{"commits without an answer", o.Verdict.CutsTotal, g.Cuts}, {"transitions shown", o.Verdict.Shown, g.Feed},
	} {
		if c.have < c.goal {
			t.Logf("%d of %d %s: the rest did not fit into %s", c.have, c.goal, c.what, g.Most)
		}
	}
	f := g.floor()
	if v := o.Verdict; o.Total < f.Faults || v.StaleMade < f.Stale || v.CutsTotal < f.Cuts || v.Shown < f.Feed {
		t.Error("that is too little to say anything")
	}
}

// Reliability tests 26 to 31, 33, 34, 37, 51 and 52; case B47.
func TestNothingIsLostDoubledOrAcceptedStaleUnderFaults(t *testing.T) {
	goal := Goal{Faults: 200, Stale: 500, Cuts: 50, Feed: 20_000, Most: usually}
	o := play(t, Storm(goal))
	if n := o.Violations(); n != 0 {
		t.Errorf("%d violations: %q", n, o.Verdict.Wrongs)
	}
	wantReached(t, o, goal)
}

// What the judge says means nothing unless it can say something else.
func TestWithoutTheFenceTheSameFaultsShowViolations(t *testing.T) {
	goal := Goal{Faults: 20, Stale: 40, Most: usually}
	o := play(t, Control(goal))
	if v := o.Verdict; v.Stale == 0 || v.Invariants == 0 {
		t.Errorf("%d stale writes were accepted, %d invariants broken: the judge sees nothing", v.Stale, v.Invariants)
	}
}
