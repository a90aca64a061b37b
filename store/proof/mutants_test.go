package proof

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/fenceline/fenceline/store/proof/mutant"
	"github.com/fenceline/fenceline/store/relay"
	"github.com/fenceline/fenceline/store/storetest"
)

// How far each of the random searches goes for one mutant. Most need few
// histories: the other proofs are asked before the rest are played.
const (
	fewHistories    = 40
	mutantHistories = 300
	mutantRuns      = "12"
)

// TestEveryMutantIsCaught shows that the proofs of this package can fail: each
// rule of the protocol, taken away from the statements that the real store
// sends, is missed by one of them. With PROOF_MUTANTS=all it says of each of
// them whether it would have noticed; otherwise the first is enough.
func TestEveryMutantIsCaught(t *testing.T) {
	start := time.Now()
	seed := seed(t)
	set(t, "rapid.checks", mutantRuns)
	set(t, "rapid.shrinktime", "0s")
	found := make([]catch, len(mutant.All))
	t.Run("mutant", func(t *testing.T) {
		for i, m := range mutant.All {
			t.Run(m.Rule, func(t *testing.T) {
				t.Parallel()
				if found[i] = hunt(t, m, seed); !found[i].caught() {
					t.Error("it survived")
				}
			})
		}
	})
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "rule taken away\thistories\tmachine runs\tdirected test")
	caught := 0
	for i, m := range mutant.All {
		fmt.Fprintf(w, "%s\t%s\n", m.Rule, found[i])
		if found[i].caught() {
			caught++
		}
	}
	w.Flush()
	t.Logf("%d of %d mutants caught, PROOF_SEED=%d, %s\n%s", caught, len(mutant.All), seed, time.Since(start).Round(time.Second), b.String())
}

// set sets a flag for the length of the test.
func set(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { flag.Set(name, before) })
}

// catch is what caught a mutant: after how many histories or runs of the
// machine, or which directed test; zero and empty for what did not.
type catch struct {
	histories, runs int
	directed        string
}

func (c catch) caught() bool { return c.histories > 0 || c.runs > 0 || c.directed != "" }

func (c catch) String() string {
	or := func(n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s\t%s\t%s", or(c.histories), or(c.runs), c.directed)
}

// hunt looks for the mutant by one proof after the other, the cheapest first.
func hunt(t *testing.T, m mutant.Mutant, seed uint64) (c catch) {
	var changed atomic.Int64
	stage := mutated(t, m, &changed)
	histories := func(first uint64, n int) {
		report, err := Run(t.Context(), []*Stage{stage}, seed, first, Length{Histories: n})
		if err != nil {
			t.Fatal(err)
		}
		if report.Failure != nil {
			c.histories = int(first) + report.Histories
		}
	}
	all := os.Getenv("PROOF_MUTANTS") == "all"
	for _, search := range []func(){
		func() { histories(0, fewHistories) },
		func() { c.runs = machineRuns(t, stage) },
		func() { c.directed = missedBy(t, stage) },
		func() {
			if c.histories == 0 {
				histories(fewHistories, mutantHistories-fewHistories)
			}
		},
	} {
		if search(); c.caught() && !all {
			break
		}
	}
	if m.In != "" && changed.Load() == 0 {
		t.Errorf("no statement was sent that holds %q", m.In)
	}
	return c
}

// missedBy is the last of the directed tests that finds something wrong.
func missedBy(t *testing.T, stage *Stage) (name string) {
	for _, d := range directed {
		if check(t, stage, d.check) != nil {
			name = d.name
		}
	}
	return name
}

// mutated is a fresh stage whose store is under the mutant. It counts the statements
// that were changed.
func mutated(t *testing.T, m mutant.Mutant, changed *atomic.Int64) *Stage {
	t.Helper()
	url := storetest.OwnerURL(t)
	via := throughRelay(t, url, func(sql string) string {
		if !m.Concerns(sql) {
			return sql
		}
		changed.Add(1)
		out, err := m.Apply(sql)
		if err != nil {
			t.Error(err)
		}
		return out
	})
	if m.DDL != "" {
		alter(t, url, m.DDL)
	}
	return openStage(t, via, url)
}

// throughRelay is the address by which a store reaches the database behind a
// relay that rewrites its statements: the store under a mutant is the very
// program that is shipped.
func throughRelay(t *testing.T, url string, rewrite func(string) string) string {
	t.Helper()
	dial, err := relay.To(url)
	if err != nil {
		t.Fatal(err)
	}
	r, err := relay.New(dial, rewrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	via, err := r.URL(url)
	if err != nil {
		t.Fatal(err)
	}
	return via
}

func alter(t *testing.T, url, ddl string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), ddl); err != nil {
		t.Fatal(err)
	}
}

// machineRuns tells in which run the machine found something; 0 for none.
func machineRuns(t *testing.T, stage *Stage) (failed int) {
	runs := 0
	deaf := &deafTB{name: t.Name()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rapid.Check(deaf, func(t *rapid.T) {
			runs++
			defer func() {
				if t.Failed() && failed == 0 {
					failed = runs
				}
			}()
			drive(t, stage)
		})
	}()
	<-done
	if failed == 0 && deaf.failed {
		failed = runs
	}
	return failed
}

// deafTB lets rapid fail without failing the test around it.
type deafTB struct {
	name   string
	failed bool
}

func (d *deafTB) Helper()               {}
func (d *deafTB) Name() string          { return d.name }
func (d *deafTB) Log(...any)            {}
func (d *deafTB) Logf(string, ...any)   {}
func (d *deafTB) Skip(...any)           { runtime.Goexit() }
func (d *deafTB) Skipf(string, ...any)  { runtime.Goexit() }
func (d *deafTB) SkipNow()              { runtime.Goexit() }
func (d *deafTB) Error(...any)          { d.failed = true }
func (d *deafTB) Errorf(string, ...any) { d.failed = true }
func (d *deafTB) Fatal(...any)          { d.FailNow() }
func (d *deafTB) Fatalf(string, ...any) { d.FailNow() }
func (d *deafTB) Fail()                 { d.failed = true }
func (d *deafTB) Failed() bool          { return d.failed }
func (d *deafTB) FailNow()              { d.failed = true; runtime.Goexit() }
