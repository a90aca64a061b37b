package proof

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/fenceline/fenceline/store/storetest"
)

func TestMain(m *testing.M) {
	// What fails is printed with its seed; nothing is left in the source tree.
	flag.Set("rapid.nofailfile", "true")
	// A mutant's tests mostly wait for their one database: two cores carry more.
	flag.Set("test.parallel", "4")
	// Histories are small and many: collecting them less often saves a tenth.
	debug.SetGCPercent(400)
	storetest.Main(m, storetest.NoLeaks)
}

// stages opens n stages, each on a database of its own.
func stages(t *testing.T, n int) []*Stage {
	t.Helper()
	var out []*Stage
	for range n {
		url := storetest.OwnerURL(t)
		out = append(out, openStage(t, url, url))
	}
	return out
}

func openStage(t *testing.T, storeURL, ownerURL string) *Stage {
	t.Helper()
	s, err := OpenStage(t.Context(), storeURL, ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// seed is PROOF_SEED, or a fresh one. Each test that draws prints it.
func seed(t *testing.T) uint64 {
	t.Helper()
	named := os.Getenv("PROOF_SEED")
	if named == "" {
		return rand.Uint64N(1_000_000_000)
	}
	n, err := strconv.ParseUint(named, 10, 64)
	if err != nil {
		t.Fatalf("PROOF_SEED: %v", err)
	}
	return n
}
