package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/fenceline/fenceline/store"
)

// printJSON prints one value on one line.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printRefused prints for programs why something was left alone, and what it is
// now, as the API answers; and fails. The field is empty where no one is at fault.
func (a *app) printRefused(conflict error, why store.Conflict, field, what string, now any) error {
	e := map[string]any{"code": why, "message": conflict.Error(), what: now}
	if field != "" {
		e["field"] = field
	}
	return errors.Join(a.printJSON(map[string]any{"error": e}), conflict)
}

// printf prints for people.
func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.out, format, args...)
	return err
}

// said prints JSON for programs or a sentence for people.
func (a *app) said(v any, format string, args ...any) error {
	if a.json {
		return a.printJSON(v)
	}
	return a.printf(format, args...)
}

// printTable prints aligned columns under a head. Numbers are not set apart:
// every cell starts where its head does.
func printTable(w io.Writer, head []string, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(head, "\t"))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = orElse(oneLine(cell), "-")
		}
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

// oneLine makes a text of somebody else fit to be shown on a terminal: nothing
// in it can move the cursor or change what stands before it.
func oneLine(text string) string { return visible(text, false) }

// paragraph is oneLine that keeps line breaks and tabs.
func paragraph(text string) string { return visible(text, true) }

func visible(text string, breaks bool) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case breaks && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == unicode.ReplacementChar:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// timeText is an absolute time for people, to the millisecond, in UTC.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000Z")
}

// clockText is timeText without the day.
func clockText(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// decimal is a number as text, as ids are written in JSON.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }
