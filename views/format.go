package views

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fenceline/fenceline/store"
	"github.com/google/uuid"
)

// Grouped writes a whole number with commas: 48,201,337.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// CountText writes a count, with a plus where counting stopped at its bound.
func CountText(c store.Count) string {
	if c.Capped {
		return Grouped(c.N) + "+"
	}
	return Grouped(c.N)
}

// Plural returns "1 job" or "12 jobs".
func Plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return Grouped(n) + " " + word + "s"
}

// Span writes a duration for people, with two units at most: 45 ms, 1.0 s,
// 12 m 04 s, 3 h 12 m, 2 d 4 h. A negative one is written as its distance.
func Span(d time.Duration) string {
	if d < 0 {
		d = -d
	}
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int64(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d m %02d s", int64(d/time.Minute), int64(d%time.Minute/time.Second))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d m", int64(d/time.Hour), int64(d%time.Hour/time.Minute))
	}
	return fmt.Sprintf("%s d %d h", Grouped(int64(d/(24*time.Hour))), int64(d%(24*time.Hour)/time.Hour))
}

// Bytes writes a size: 412 bytes, 1.5 KiB, 3.0 MiB.
func Bytes(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// MiddleCut shortens a name to at most limit runes and keeps both of its ends,
// because the end of a worker's id is what tells two starts apart.
func MiddleCut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	r := []rune(s)
	tail := limit / 2
	return string(r[:limit-tail-1]) + "…" + string(r[len(r)-tail:])
}

// shortID is the part of an attempt's id that people compare.
func shortID(id uuid.UUID) string { return id.String()[:8] }

const (
	layoutDatetime = "2006-01-02T15:04:05.000Z"
	layoutFull     = "2006-01-02 15:04:05.000 UTC"
)

// machineTime is the value of a datetime attribute: UTC with milliseconds.
func machineTime(t time.Time) string { return t.UTC().Format(layoutDatetime) }

// fullTime is the absolute time that stands at hand for every time shown.
func fullTime(t time.Time) string { return t.UTC().Format(layoutFull) }

// clockTime is the time of day, with the date where it is not now's.
func clockTime(t, now time.Time) string {
	if sameDay(t, now) {
		return t.UTC().Format("15:04:05.000")
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}

// momentTime is a time to the second for running text.
func momentTime(t, now time.Time) string {
	if sameDay(t, now) {
		return t.UTC().Format("15:04:05 UTC")
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func sameDay(a, b time.Time) bool {
	ay, am, ad := a.UTC().Date()
	by, bm, bd := b.UTC().Date()
	return ay == by && am == bm && ad == bd
}
