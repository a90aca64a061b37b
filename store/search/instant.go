package search

import (
	"fmt"
	"strings"
	"time"
)

// Instant is a point in time as a person writes it: a day, minute or second,
// which has a length, or a distance from now.
type Instant struct {
	Relative bool
	Offset   time.Duration // from now; of a relative one

	From, To time.Time // of an absolute one: what was named begins at From and ends before To, in UTC
}

// maxSpan bounds lengths of time: the database adds them to its clock.
const maxSpan = 100 * 365 * 24 * time.Hour

var layouts = []struct {
	layout string
	length time.Duration
	write  string // in UTC
}{
	{"2006-01-02", 24 * time.Hour, "2006-01-02"},
	{"2006-01-02T15:04", time.Minute, "2006-01-02T15:04Z"},
	{"2006-01-02T15:04Z07:00", time.Minute, "2006-01-02T15:04Z"},
	{"2006-01-02T15:04:05", time.Second, "2006-01-02T15:04:05Z"},
	{"2006-01-02T15:04:05Z07:00", time.Second, "2006-01-02T15:04:05Z"},
}

// parseInstant reads a moment. The complaint goes behind the field's name.
func parseInstant(text string) (Instant, string) {
	if strings.EqualFold(text, "now") {
		return Instant{Relative: true}, ""
	}
	if text != "" && (text[0] == '-' || text[0] == '+') {
		d, complaint := parseSpan(text[1:])
		if text[0] == '-' {
			d = -d
		}
		return Instant{Relative: true, Offset: d}, complaint
	}
	upper := strings.ToUpper(strings.Replace(text, " ", "T", 1))
	for _, l := range layouts {
		if t, err := time.Parse(l.layout, upper); err == nil {
			return absolute(t.UTC(), l.length, upper)
		}
	}
	return Instant{}, "needs a time: 2026-01-31, 2026-01-31T09:30, now, -2h or +10m"
}

func absolute(from time.Time, length time.Duration, text string) (Instant, string) {
	if length == time.Second && strings.Contains(text, ".") {
		if from.Nanosecond()%1000 != 0 {
			return Instant{}, "has a time finer than the database keeps, which is microseconds"
		}
		length = time.Microsecond
	}
	to := from.Add(length)
	if from.Year() < 1900 || to.Year() > 9998 {
		return Instant{}, "needs a time between the years 1900 and 9998"
	}
	return Instant{From: from, To: to}, ""
}

// String writes the instant as it is read.
func (i Instant) String() string {
	switch {
	case i.Relative && i.Offset == 0:
		return "now"
	case i.Relative && i.Offset < 0:
		return "-" + spanText(-i.Offset)
	case i.Relative:
		return "+" + spanText(i.Offset)
	case i.To.Sub(i.From) == time.Microsecond:
		return i.From.Format("2006-01-02T15:04:05.000000Z")
	}
	for _, l := range layouts {
		if l.length == i.To.Sub(i.From) {
			return i.From.Format(l.write)
		}
	}
	return i.From.Format(time.RFC3339Nano)
}

var units = []struct {
	name byte
	of   time.Duration
}{{'w', 7 * 24 * time.Hour}, {'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}

// parseSpan reads a length of time: 90s, 1h30m, 2d, 1w.
func parseSpan(text string) (time.Duration, string) {
	const form = "needs a length of time such as 90s, 15m, 1h30m, 2d or 1w"
	if text == "" {
		return 0, form
	}
	var total time.Duration
	for rest := text; rest != ""; {
		n, digits := int64(0), 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' && digits < 12 {
			n = n*10 + int64(rest[digits]-'0')
			digits++
		}
		if digits == 0 || digits == len(rest) {
			return 0, form
		}
		of := unit(rest[digits])
		if of == 0 {
			return 0, form
		}
		if n > int64(maxSpan/of) {
			return 0, "is longer than 100 years"
		}
		if total += time.Duration(n) * of; total > maxSpan {
			return 0, "is longer than 100 years"
		}
		rest = rest[digits+1:]
	}
	return total, ""
}

func unit(name byte) time.Duration {
	for _, u := range units {
		if u.name == name|0x20 {
			return u.of
		}
	}
	return 0
}

// spanText writes a length of time in days and smaller units.
func spanText(d time.Duration) string {
	var b strings.Builder
	for _, u := range units[1:] {
		if n := d / u.of; n > 0 {
			fmt.Fprintf(&b, "%d%c", n, u.name)
			d -= n * u.of
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}
