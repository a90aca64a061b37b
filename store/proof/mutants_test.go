package proof

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/fenceline/fenceline/store/storetest"
)

// How far each of the random searches goes for one mutant.
const (
	mutantHistories = 300
	mutantRuns      = "12"
)

// TestEveryMutantIsCaught shows that the proofs of this package can fail: each
// rule of the protocol, taken away from the statements that the real store
// sends, is missed by one of them.
func TestEveryMutantIsCaught(t *testing.T) {
	start := time.Now()
	seed := seed(t)
	set(t, "rapid.checks", mutantRuns)
	set(t, "rapid.shrinktime", "0s")
	found := make([]catch, len(mutants))
	t.Run("mutant", func(t *testing.T) {
		for i, m := range mutants {
			t.Run(m.rule, func(t *testing.T) {
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
	for i, m := range mutants {
		fmt.Fprintf(w, "%s\t%s\n", m.rule, found[i])
		if found[i].caught() {
			caught++
		}
	}
	w.Flush()
	t.Logf("%d of %d mutants caught, PROOF_SEED=%d, %s\n%s", caught, len(mutants), seed, time.Since(start).Round(time.Second), b.String())
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

// apply rewrites a statement that the mutant concerns.
func (m mutant) apply(sql string) (string, error) {
	for i := 0; i < len(m.edits); i += 2 {
		if !strings.Contains(sql, m.edits[i]) {
			return sql, fmt.Errorf("the statement no longer holds %q", m.edits[i])
		}
		sql = strings.ReplaceAll(sql, m.edits[i], m.edits[i+1])
	}
	return sql, nil
}

// hunt looks for the mutant by histories and by the machine, and by the
// directed tests where neither found it.
func hunt(t *testing.T, m mutant, seed uint64) (c catch) {
	var changed atomic.Int64
	stage := m.stage(t, &changed)
	report, err := Run(t.Context(), []*Stage{stage}, seed, 0, Length{Histories: mutantHistories})
	if err != nil {
		t.Fatal(err)
	}
	if report.Failure != nil {
		c.histories = report.Histories
	}
	c.runs = machineRuns(t, stage)
	if m.in != "" && changed.Load() == 0 {
		t.Errorf("no statement was sent that holds %q", m.in)
	}
	if c.caught() {
		return c
	}
	for _, d := range directed {
		if check(t, stage, d.check) != nil {
			c.directed = d.name
		}
	}
	return c
}

// stage is a fresh one whose store is under the mutant. It counts the statements
// that were changed.
func (m mutant) stage(t *testing.T, changed *atomic.Int64) *Stage {
	t.Helper()
	url := storetest.OwnerURL(t)
	via := newRelay(t, url, func(sql string) string {
		if m.in == "" || !strings.Contains(sql, m.in) {
			return sql
		}
		changed.Add(1)
		out, err := m.apply(sql)
		if err != nil {
			t.Error(err)
		}
		return out
	})
	if m.ddl != "" {
		alter(t, url, m.ddl)
	}
	return openStage(t, via, url)
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
