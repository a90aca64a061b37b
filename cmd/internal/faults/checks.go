package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// FuzzTargets are the fuzz functions for what clients send, by package.
var FuzzTargets = []struct{ Package, Name string }{
	{"./web", "FuzzBody"}, {"./web", "FuzzForm"}, {"./web", "FuzzQuery"}, {"./web", "FuzzLastEventID"}, {"./web", "FuzzHost"},
	{"./web", "FuzzReplay"}, {"./views", "FuzzReadIncidentReport"}, {"./cmd/fenceline", "FuzzLine"}, {"./store", "FuzzCheckJSON"},
}

// Checks runs the proofs that need no faults, through the go command: random
// histories against the model, mutants, hostile inputs and the fuzz targets.
// Negative numbers are shares of the minutes.
func (r *Report) Checks(ctx context.Context, log func(string, ...any), histories int, fuzz time.Duration, minutes float64) error {
	if histories < 0 {
		histories = int(2000 * minutes)
	}
	if fuzz < 0 {
		fuzz = time.Duration(2 * minutes * float64(time.Second))
	}
	if _, err := exec.LookPath("go"); err != nil {
		r.NotRun = append(r.NotRun, "histories, mutants, fuzz targets: there is no go command")
		return nil
	}
	if histories > 0 {
		log("random histories")
		r.check(ctx, "random histories against the model, violations", "1,000,000: 0", regexp.MustCompile(`\d+ histories, .*`),
			[]string{fmt.Sprintf("PROOF_HISTORIES=%d", histories), fmt.Sprintf("PROOF_SEED=%d", r.Seed)}, "./store/proof", "-run", "RandomHistories", "-v", "-timeout", "24h")
		log("mutants")
		r.check(ctx, "protocol mutants caught", "all", regexp.MustCompile(`\d+ of \d+ mutants caught`),
			[]string{fmt.Sprintf("PROOF_SEED=%d", r.Seed), "PROOF_MUTANTS=all"}, "./store/proof", "-run", "EveryMutant", "-v", "-timeout", "1h")
	}
	if fuzz > 0 {
		log("hostile inputs")
		r.check(ctx, "hostile inputs: 5xx, panics", "0", regexp.MustCompile(`\d+ hostile requests, .*`), nil, "./web", "-run", "HostileRequests", "-v")
		for _, t := range FuzzTargets {
			log("fuzz target %s", t.Name)
			r.check(ctx, "fuzz target "+t.Name, "10 min: nothing found", regexp.MustCompile(`elapsed: \S+, execs: \d+ .*`), nil,
				t.Package, "-run", "^$", "-fuzz", "^"+t.Name+"$", "-fuzztime", fuzz.String())
		}
	}
	return ctx.Err()
}

// check runs `go test` and keeps the last line that says what was measured.
func (r *Report) check(ctx context.Context, name, target string, line *regexp.Regexp, env []string, args ...string) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test"}, args...)...)
	cmd.Dir, cmd.Env = r.source, append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	measured := "not measured"
	if found := line.FindAllString(out.String(), -1); len(found) > 0 {
		measured = found[len(found)-1]
	}
	if err != nil {
		text := strings.TrimSpace(out.String())
		r.sum.wrong("go test %s: %v: %s", strings.Join(args, " "), err, text[max(0, len(text)-2000):])
	}
	r.figure(err == nil && measured != "not measured", name, target, "%s", measured)
}
