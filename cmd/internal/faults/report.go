package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a whole run came to.
type Report struct {
	Seed    uint64     `json:"seed"`
	Commit  string     `json:"commit"`
	Machine Machine    `json:"machine"`
	Started time.Time  `json:"started"` // this machine's clock
	Seconds float64    `json:"seconds"`
	Figures []Figure   `json:"figures"`
	NotRun  []string   `json:"not_run"`
	Scenes  []*Outcome `json:"scenes"`

	source string
	sum    verdict
	faults int
}

// Machine is where it ran.
type Machine struct {
	OS       string `json:"os"`
	CPUs     int    `json:"cpus"`
	CPU      string `json:"cpu,omitempty"`
	Go       string `json:"go"`
	Postgres string `json:"postgres,omitempty"`
}

// Figure is a line of the table.
type Figure struct {
	Name     string `json:"figure"`
	Target   string `json:"target"` // of a full run
	Measured string `json:"measured"`
	OK       bool   `json:"ok"` // nothing was found that must not be, however far the target is
}

// NewReport begins a report on the program whose source is there.
func NewReport(ctx context.Context, source string, seed uint64) *Report {
	commit := "unknown"
	if out, err := exec.CommandContext(ctx, "git", "-C", source, "describe", "--always", "--dirty", "--exclude=*").Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	return &Report{Seed: seed, Commit: commit, Started: time.Now().UTC().Truncate(time.Second), source: source,
		Machine: Machine{OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), CPU: cpu(), Go: runtime.Version()}, NotRun: []string{}}
}

// cpu is what the system calls the processor; empty where it does not say.
func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// control is the scene whose violations are wanted.
const control = "control"

// Add takes an outcome in.
func (r *Report) Add(o *Outcome) {
	r.Scenes = append(r.Scenes, o)
	if o.Postgres != "" {
		r.Machine.Postgres = o.Postgres
	}
	switch {
	case o.Lacking != "":
		r.NotRun = append(r.NotRun, o.Scene+": "+o.Lacking)
	case o.Scene != control:
		r.sum.add(o.Verdict)
		r.faults += o.Total
	}
}

// Failed takes in that a scene could not be played to its end. Such a report is
// not in order.
func (r *Report) Failed(scene string, err error) {
	r.figure(false, "scene: "+scene, "played to its end", "%v", err)
}

func (r *Report) figure(ok bool, name, target, format string, args ...any) {
	r.Figures = append(r.Figures, Figure{Name: name, Target: target, Measured: fmt.Sprintf(format, args...), OK: ok})
}

// Finish makes the figures of the scenes.
func (r *Report) Finish(took time.Duration) {
	r.Seconds = took.Seconds()
	v := &r.sum
	r.figure(v.StaleMade == v.StaleRefused && v.StaleMade == v.StaleRecorded,
		"stale attempts made on purpose = refused = on the timeline", "20,000", "%d = %d = %d", v.StaleMade, v.StaleRefused, v.StaleRecorded)
	r.figure(v.Lost+v.Doubled+v.Stale+v.Invariants+v.Unexpected == 0,
		"faults: acknowledged lost / results or follow-ups doubled / stale writes accepted", "10,000: 0/0/0",
		"%d: %d/%d/%d (of %d acknowledged, %d results, %d writes; %d invariants broken, %d answers wrong)",
		r.faults, v.Lost, v.Doubled, v.Stale, v.Acknowledged, v.Results, v.Writes, v.Invariants, v.Unexpected)
	r.figure(true, "outside effects repeated, counted apart", "", "%d", v.Repeats)
	r.figure(v.CutsTotal == v.CutsRight, "commits whose answer was lost, resolved rightly", "2,000",
		"%d of %d (enqueue %d, claim %d, complete %d, requeue %d)", v.CutsRight, v.CutsTotal, v.Cuts["enqueue"], v.Cuts["claim"], v.Cuts["complete"], v.Cuts["requeue"])
	r.figure(v.Missed+v.Twice == 0, "feed: transitions missed / shown twice", "1,000,000: 0/0",
		"%d: %d/%d, %d listener kills", v.Shown, v.Missed, v.Twice, r.listenerKills())
	for _, o := range r.Scenes {
		if o.Scene == control && o.Verdict != nil {
			r.figure(o.Verdict.Stale > 0, "control, the same faults without the fence: stale writes accepted", "more than 0",
				"%d of %d, %d invariants broken, %d faults", o.Verdict.Stale, o.Verdict.Writes, o.Verdict.Invariants, o.Total)
		}
	}
}

func (r *Report) listenerKills() (n int) {
	for _, o := range r.Scenes {
		if o.Scene != control {
			for _, f := range ofServer[:2] {
				n += o.Faults[f.name]
			}
		}
	}
	return n
}

// OK reports whether nothing was found that must not be, and the control found
// what it must.
func (r *Report) OK() bool {
	for _, f := range r.Figures {
		if !f.OK {
			return false
		}
	}
	return true
}

// Table is the report for a person.
func (r *Report) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, commit %s, %s, %d CPUs %s, PostgreSQL %s, %s, %.0f s\n\n",
		r.Seed, r.Commit, r.Machine.OS, r.Machine.CPUs, r.Machine.CPU, r.Machine.Postgres, r.Machine.Go, r.Seconds)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\ttarget\tmeasured\t")
	for _, f := range r.Figures {
		word := "ok"
		if !f.OK {
			word = "WRONG"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Name, f.Target, f.Measured, word)
	}
	w.Flush()
	for _, text := range r.NotRun {
		fmt.Fprintf(&b, "not run: %s\n", text)
	}
	for _, text := range r.sum.Wrongs {
		fmt.Fprintf(&b, "wrong: %s\n", text)
	}
	return b.String()
}

// Write keeps the report as JSON.
func (r *Report) Write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
