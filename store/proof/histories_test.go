package proof

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// shrinking is how long a counterexample is made shorter before it is printed.
const shrinking = 30 * time.Second

// usually is how long histories are played when their number is not asked for:
// a machine that is too slow for all of them plays fewer, and says so.
const usually = 2 * time.Minute

// TestRandomHistoriesFitTheModel plays PROOF_HISTORIES histories of PROOF_SEED
// (by default 20,000 of a fresh one; 2,000 with -short). PROOF_INDEX plays one
// of them that often instead.
func TestRandomHistoriesFitTheModel(t *testing.T) {
	seed, first, n := seed(t), uint64(0), number(t, "PROOF_HISTORIES", 20000, 2000)
	play := Run
	if os.Getenv("PROOF_INDEX") != "" {
		first = uint64(number(t, "PROOF_INDEX", 0, 0))
		play = Repeat
	}
	t.Logf("PROOF_SEED=%d", seed)
	stages := stages(t, number(t, "PROOF_STAGES", 4, 4))
	length := Length{Histories: n}
	if os.Getenv("PROOF_HISTORIES") == "" {
		length.Time = usually
	}
	report, err := play(t.Context(), stages, seed, first, length)
	if err != nil {
		t.Fatal(err)
	}
	if h := report.Failure; h != nil {
		shortest, err := stages[0].Shrink(t.Context(), h, shrinking)
		if err != nil {
			t.Error(err)
		}
		t.Fatalf("after %d histories; again with PROOF_SEED=%d PROOF_INDEX=%d\n%s", report.Histories, seed, h.Script.Index, shortest.Timeline())
	}
	t.Log(summary(report))
	if report.Histories < n {
		t.Logf("played %d of %d histories: the rest did not fit into %s", report.Histories, n, usually)
	}
	if n = report.Histories; n >= 2000 && first == 0 {
		wantEveryAnswer(t, report)
	}
}

func number(t *testing.T, name string, usual, short int) int {
	t.Helper()
	named := os.Getenv(name)
	switch {
	case named == "" && testing.Short():
		return short
	case named == "":
		return usual
	}
	n, err := strconv.Atoi(named)
	if err != nil || n < 0 {
		t.Fatalf("%s: %q is no number", name, named)
	}
	return n
}

func summary(r Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories, %d operations (%d overlapped another, %d without an answer), 0 violations, in %s: %.0f histories/s\n",
		r.Histories, r.Operations, r.Together, r.Lost, r.Took.Round(time.Second), r.Rate())
	for _, verb := range slices.Sorted(maps.Keys(r.Answers)) {
		fmt.Fprintf(&b, "  %-10s", verb)
		for _, verdict := range slices.Sorted(maps.Keys(r.Answers[verb])) {
			name := string(verdict)
			if name == "" {
				name = "-"
			}
			fmt.Fprintf(&b, " %s %d", name, r.Answers[verb][verdict])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wantEveryAnswer holds the histories against emptiness: what never came up was
// never checked.
func wantEveryAnswer(t *testing.T, r Report) {
	t.Helper()
	refusals := []Verdict{
		Verdict(store.ReasonSuperseded), Verdict(store.ReasonLeaseExpired), Verdict(store.ReasonAlreadyEnded), Verdict(store.ReasonTerminated),
	}
	offers := append([]Verdict{Accepted, Repeated}, refusals...)
	for verb, verdicts := range map[Verb][]Verdict{
		Enqueue: {Accepted, Repeated, Conflict}, ClaimJob: {Accepted, ""}, Find: {Accepted, ""},
		Renew: append([]Verdict{Accepted}, refusals...), Complete: offers, Fail: offers, Release: offers,
		Expire: {Accepted, ""}, Promote: {Accepted, ""}, Lapse: {Accepted, ""}, ComeDue: {Accepted, ""}, Hold: {""}, Look: {""},
		Requeue:   {Accepted, Verdict(store.ConflictChanged), Verdict(store.ConflictAlreadyWaiting)},
		Terminate: {Accepted, Verdict(store.ConflictChanged), Verdict(store.ConflictAlreadyEnded)},
		Correct:   {Accepted, Verdict(store.ConflictChanged), Verdict(store.ConflictAlreadyWaiting)},
		Amend:     {Accepted, Verdict(store.ConflictChanged), Verdict(store.ConflictRunning), Impossible},
		Erase:     {Accepted, Verdict(store.ConflictChanged), Verdict(store.ConflictNotEnded)},
		Note:      {Accepted, Verdict(store.ConflictChanged)},
	} {
		for _, v := range verdicts {
			if r.Answers[verb][v] == 0 {
				t.Errorf("no %s was ever answered %q", verb, v)
			}
		}
	}
	if r.Lost == 0 || r.Together*3 < r.Operations {
		t.Errorf("%d answers lost, %d of %d operations overlapped another", r.Lost, r.Together, r.Operations)
	}
}
