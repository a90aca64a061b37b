package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fenceline/fenceline/docs/blocks"
)

// The documents, so that none of them rots:
//
//   - sh blocks run in order, in one directory, against a private server of the
//     document's own. A line that starts serve, worker, "make run" or "go run ."
//     goes on while the rest is run, as in a second terminal; the next serve
//     takes the place of the first. Port 8080 is any free one.
//   - sql blocks run as the database's owner; one with parameters is prepared.
//   - go blocks of a document are the files of one program, built by "go run .".
//   - text and json blocks are what the block above prints; "…" stands for
//     anything, on a line of its own for any lines. A block that only looks is
//     run again until it shows that.
//   - "go test" and make, except "make run", are looked up and not run: they
//     would run these tests, or measure for minutes. fenceline bench works few
//     jobs instead of many.
//
// At the end fenceline verify must hold, and everything must stop in order. A
// block that no test can run says so to its reader, in the line above it.

// documents are the files whose blocks are run.
func documents(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(found) < 4 {
		t.Fatalf("found %d documents, %v", len(found), err)
	}
	return append(found, "../../README.md")
}

// mayBeLeftAlone bounds the blocks of all documents that tests do not run.
const mayBeLeftAlone = 12

// shownOnly are the languages of blocks that are printed, or that other tests run.
var shownOnly = []string{"text", "json", "lua", "yaml", "ini", "toml", "nginx", "promql", "dockerfile", "svg"}

func TestEveryBlockOfTheDocumentsRuns(t *testing.T) {
	t.Parallel()
	for _, path := range documents(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".md"), func(t *testing.T) {
			t.Parallel()
			all, err := blocks.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(all, runs) {
				return
			}
			r := newReader(t, path)
			for i, b := range all {
				if runs(b) {
					r.run(b, printed(all[i+1:]))
				}
			}
			r.leave()
		})
	}
}

// runs reports whether a block is for the tests to run.
func runs(b blocks.Block) bool {
	return b.NotRun == "" && (b.Lang == "sh" || b.Lang == "sql" || b.Lang == "go")
}

// printed is what the block before prints, as its reader is told; empty when
// they are not told.
func printed(rest []blocks.Block) string {
	if len(rest) > 0 && (rest[0].Lang == "text" || rest[0].Lang == "json") && rest[0].Follows {
		return rest[0].Text
	}
	return ""
}

func TestFewBlocksOfTheDocumentsAreLeftAlone(t *testing.T) {
	t.Parallel()
	var left []string
	for _, path := range documents(t) {
		all, err := blocks.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range all {
			switch {
			case b.NotRun != "":
				left = append(left, filepath.Base(path)+": "+b.NotRun)
			case !runs(b) && !slices.Contains(shownOnly, b.Lang):
				t.Errorf("%s:%d: nobody knows what to do with a block of %q", path, b.Line, b.Lang)
			}
		}
	}
	if len(left) > mayBeLeftAlone {
		t.Errorf("%d blocks are not run, want at most %d:\n%s", len(left), mayBeLeftAlone, strings.Join(left, "\n"))
	}
}

// Commands that are set as indented text are those that test and measure. They
// are looked up, as such lines within blocks are.
func TestEveryIndentedCommandOfTheDocumentsIsThere(t *testing.T) {
	t.Parallel()
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := &reader{t: t, path: path}
		for i, line := range strings.Split(string(text), "\n") {
			if command, indented := strings.CutPrefix(line, "    "); indented && lookedUp.MatchString(command) {
				r.at = blocks.Block{Line: i + 1, Text: command}
				r.lookUp(command)
			}
		}
	}
}
