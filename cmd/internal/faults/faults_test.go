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

func TestNothingIsLostDoubledOrAcceptedStaleUnderFaults(t *testing.T) {
	t.Parallel()
	goal := Goal{Faults: 200, Stale: 500, Cuts: 50, Feed: 20_000, Most: 45 * time.Second}
	o, err := newStage(t).Play(t.Context(), Storm(goal))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d faults in %.0f s: %v\n%+v", o.Total, o.Seconds, o.Faults, *o.Verdict)
}
