package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/redact"
	"github.com/fenceline/fenceline/store/wire"
	"github.com/fenceline/fenceline/views"
)

type jobsShowCmd struct {
	database
	ID     int64 `arg:"" help:"The job's id."`
	Reveal bool  `name:"reveal" help:"Show args and result in full; that somebody looked is recorded."`
}

// Run prints one job: its story, its attempts, what it was given and made.
func (c *jobsShowCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(st *store.Store) error { return c.show(ctx, a, st) })
}

func (c *jobsShowCmd) show(ctx context.Context, a *app, st *store.Store) error {
	view, err := st.JobView(ctx, c.ID)
	if err != nil {
		return aboutJob(c.ID, err)
	}
	payload := view.Masked
	switch {
	case c.Reveal:
		payload, err = st.Reveal(ctx, c.ID, actor())
	case a.json:
		payload, err = st.Show(ctx, c.ID, redact.Revealed)
	}
	if err != nil {
		return aboutJob(c.ID, err)
	}
	if a.json {
		return a.printJSON(shown(view, payload))
	}
	return c.print(a, view, payload)
}

// aboutJob says which job an error is about.
func aboutJob(id int64, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no job %d", id)
	}
	return err
}

type shownJSON struct {
	wire.Job
	Args        json.RawMessage   `json:"args"`
	Result      json.RawMessage   `json:"result"`
	Attempts    []attemptJSON     `json:"attempts"`
	Transitions []wire.Transition `json:"transitions"`
	Children    []wire.Job        `json:"children"`
	Story       string            `json:"story"`
}

func shown(v store.JobView, p store.Payload) shownJSON {
	return shownJSON{
		Job: wire.JobOf(v.Job), Args: p.Args, Result: p.Result, Story: views.StoryText(v), Children: wire.JobsOf(v.Children),
		Attempts: attemptsOf(v), Transitions: wire.TransitionsOf(v.Transitions),
	}
}

func (c *jobsShowCmd) print(a *app, v store.JobView, p store.Payload) error {
	j := v.Job
	head := fmt.Sprintf("Job %d, kind %s, queue %s", j.ID, j.Kind, j.Queue)
	if j.Key != "" {
		head += ", key " + j.Key
	}
	fmt.Fprintf(a.out, "%s: %s, revision %d, %d of %d attempts used\n", oneLine(head), j.State, j.Revision, j.Attempts, j.MaxAttempts)
	fmt.Fprintf(a.out, "%s\n", oneLine(views.StoryText(v)))
	if len(v.History.Lanes) > 0 {
		fmt.Fprintln(a.out)
		if err := printTable(a.out, laneHead, laneRows(v.History.Lanes)); err != nil {
			return err
		}
	}
	printFailures(a, v.Errors)
	for _, child := range v.Children {
		fmt.Fprintf(a.out, "\nFollow-up %s: job %d, %s", oneLine(child.FollowName), child.ID, child.State)
		if slices.Contains(v.Twice, child.ID) {
			fmt.Fprintf(a.out, ", %s", views.MaybeTwice)
		}
	}
	if !j.ErasedAt.IsZero() {
		return a.printf("\nArgs, result and the texts of errors and outputs were erased at %s.\n", timeText(j.ErasedAt))
	}
	fmt.Fprintf(a.out, "\nArgs (%d bytes): %s\n", j.ArgsBytes, indented(p.Args))
	if p.Result != nil {
		fmt.Fprintf(a.out, "Result of generation %d (%d bytes): %s\n", j.ResultGeneration, j.ResultBytes, indented(p.Result))
	}
	if !c.Reveal {
		return a.printf("Values are masked; --reveal shows them and records that you looked.\n")
	}
	return nil
}

var laneHead = []string{"GENERATION", "WORKER", "CLAIMED", "RENEWED", "LEASE UNTIL", "ENDED", "HOW", "REFUSED"}

func laneRows(lanes []store.Lane) [][]string {
	rows := make([][]string, len(lanes))
	for i, l := range lanes {
		how := string(l.End)
		if how == "" {
			how = "holds it"
		}
		if l.Reason != "" {
			how += " (" + l.Reason + ")"
		}
		rows[i] = []string{decimal(l.Generation), l.Worker, timeText(l.ClaimedAt), decimal(int64(len(l.Renewals))),
			timeText(l.LeaseUntil), timeText(l.EndedAt), how, refusals(l.Refused)}
	}
	return rows
}

// refusals says which writes were refused and why, equal ones once.
func refusals(refused []store.Transition) string {
	var words []string
	times := map[string]int{}
	for _, t := range refused {
		w := string(t.Op) + ": " + t.Reason
		if times[w]++; times[w] == 1 {
			words = append(words, w)
		}
	}
	for i, w := range words {
		if times[w] > 1 {
			words[i] = fmt.Sprintf("%s ×%d", w, times[w])
		}
	}
	return strings.Join(words, ", ")
}

func printFailures(a *app, failures []store.AttemptFailure) {
	for _, f := range failures {
		if f.Message != "" || f.Class != "" {
			fmt.Fprintf(a.out, "\nError of generation %d, %s: %s\n", f.Generation, oneLine(f.Class), paragraph(orKept(f.Message, f.ErrorKept)))
		}
		if f.Output != "" || f.OutputKept {
			fmt.Fprintf(a.out, "\nOutput of generation %d:\n%s\n", f.Generation, paragraph(orKept(f.Output, f.OutputKept)))
		}
	}
}

// orKept is a text, or why there is none.
func orKept(text string, kept bool) string {
	if kept {
		return "(a rule keeps it from everybody)"
	}
	return text
}

// indented is JSON for people, safe to show.
func indented(raw json.RawMessage) string {
	pretty, cut := views.PrettyJSON(raw)
	if cut {
		pretty += "\n… (cut; --json prints all of it)"
	}
	return paragraph(pretty)
}
