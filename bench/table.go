package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// report is what the JSON holds.
type report struct {
	At         time.Time `json:"at"`
	Commit     string    `json:"commit"`
	Command    string    `json:"command"`
	Machine    string    `json:"machine"`
	CPUs       int       `json:"cpus"`
	PostgreSQL string    `json:"postgresql"`
	Load       string    `json:"load_average"` // before and after: others on the machine make figures doubtful
	Rows       []*row    `json:"rows"`
}

func (b *bench) report(version, loadBefore string) report {
	b.finish()
	return report{
		At: time.Now().UTC().Truncate(time.Second), Commit: commit(), Command: "bench " + strings.Join(os.Args[1:], " "),
		Machine: machine(), CPUs: runtime.NumCPU(), PostgreSQL: version, Load: loadBefore + " → " + load(), Rows: b.rows,
	}
}

func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func machine() string {
	model := runtime.GOOS + "/" + runtime.GOARCH
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return model
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(name) == "model name" {
			return model + ", " + strings.TrimSpace(value)
		}
	}
	return model
}

func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(raw))[0]
}

// print writes the table, and how Fenceline compares with each contestant.
func (r report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, commit %s, PostgreSQL %s, %s, %d CPUs, load average %s\n\n", r.At.Format(time.RFC3339), r.Commit, r.PostgreSQL, r.Machine, r.CPUs, r.Load)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\twho\tmedian\tleast\tmost\trounds\tunit\t")
	what := ""
	for _, row := range r.sorted() {
		shown := row.What
		if shown == what {
			shown = ""
		}
		what = row.What
		who := row.Contestant
		if row.Settings != "" {
			who += ", " + row.Settings
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", shown, who, figure(row.Median), figure(row.Least), figure(row.Most), len(row.Values), row.Unit, row.Note)
	}
	table.Flush()
}

// sorted puts the rows of one thing together, in the order of their first ones.
func (r report) sorted() []*row {
	var sorted []*row
	done := map[string]bool{}
	for _, first := range r.Rows {
		if done[first.What] {
			continue
		}
		done[first.What] = true
		for _, row := range r.Rows {
			if row.What == first.What {
				sorted = append(sorted, row)
			}
		}
	}
	return sorted
}

func figure(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f < 10:
		return fmt.Sprintf("%.2f", f)
	case f < 100:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

func (r report) write(path string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}
