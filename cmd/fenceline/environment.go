package main

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/fenceline/fenceline/worker/command"
)

const (
	ourVariables   = "FENCELINE_"
	testsVariables = ourVariables + "TEST_" // the tests' own
)

// serviceVariable finds what Kubernetes sets in every container for a service
// that is called fenceline, or begins so.
var serviceVariable = regexp.MustCompile(`_SERVICE_(HOST|PORT)(_|$)|_PORT(_\d+_(TCP|UDP)(_|$)|$)`)

// warnOfUnknown logs each variable that is named as ours are and is read by
// nobody: a typing mistake there is a setting that does not hold. Values are never
// shown.
func warnOfUnknown(to *slog.Logger, grammar *kong.Application, environ []string) {
	known := variables(grammar)
	given := command.Variables() // a program that works a job may call this one
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, ourVariables) || strings.HasPrefix(name, testsVariables) || serviceVariable.MatchString(name) ||
			slices.Contains(known, name) || slices.Contains(given, name) {
			continue
		}
		if like := nearest(name, known); like != "" {
			to.Warn("a variable that nothing reads is ignored", "variable", name, "nearest", like)
		} else {
			to.Warn("a variable that nothing reads is ignored", "variable", name)
		}
	}
}

// variables are those that any verb reads.
func variables(grammar *kong.Application) (all []string) {
	for _, verb := range grammar.Leaves(false) {
		for _, group := range verb.AllFlags(false) {
			for _, f := range group {
				all = append(all, f.Envs...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nearest is the known name that takes the fewest changes of a character; empty
// when it would take that many that another one was meant.
func nearest(name string, known []string) string {
	best, least := "", len(name)
	for _, k := range known {
		if n := changes(strings.TrimPrefix(name, ourVariables), strings.TrimPrefix(k, ourVariables)); n < least {
			best, least = k, n
		}
	}
	if least > (len(name)-len(ourVariables)+2)/3 {
		return ""
	}
	return best
}

// changes counts the characters that are put in, left out or replaced between
// two words.
func changes(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
