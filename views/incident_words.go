package views

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fenceline/fenceline/store"
)

// reportWords is how many bytes people's words take in a report at most, as JSON
// writes them. What else stands in one is bounded by how much of it there is, and
// has room beside them in [MaxIncidentReport].
const reportWords = 8 << 20

// leastWords is how much of a text is kept however many there are.
const leastWords = 1 << 10

// bounded is the report with the longest of people's words cut where they were
// too long together to be read again. What is cut says so; shorter ones stay as
// they are, and so does a report that was cut already.
func bounded(r store.IncidentReport) store.IncidentReport {
	var sizes []int
	for _, l := range r.Line {
		sizes = append(sizes, encodedSize(l.Reason))
	}
	for _, d := range r.Deeds {
		sizes = append(sizes, encodedSize(d.Reason))
	}
	most, fits := shareOf(sizes, reportWords)
	if fits {
		return r
	}
	r.Line, r.Deeds = slices.Clone(r.Line), slices.Clone(r.Deeds)
	for n := range r.Line {
		r.Line[n].Reason = cutWords(r.Line[n].Reason, most)
	}
	for n := range r.Deeds {
		r.Deeds[n].Reason = cutWords(r.Deeds[n].Reason, most)
	}
	return r
}

// shareOf is how long each may be so that all of them are within a bound: none is
// cut for one that is longer.
func shareOf(sizes []int, bound int) (most int, fits bool) {
	slices.SortFunc(sizes, cmp.Compare[int])
	left := bound
	for n, size := range sizes {
		if share := left / (len(sizes) - n); size > share {
			return max(share, leastWords), false
		}
		left -= size
	}
	return bound, true
}

// cutWords cuts a text to so many bytes, with what it says of that.
func cutWords(text string, most int) string {
	if encodedSize(text) <= most {
		return text
	}
	const room = 80 // for the longest that is said
	kept, size := 0, 0
	for kept < len(text) {
		r, n := utf8.DecodeRuneInString(text[kept:])
		if size += encodedRune(r, n); size > most-room {
			break
		}
		kept += n
	}
	return strings.TrimRight(text[:kept], " \n\t") + "… [cut: " + Grouped(int64(len(text)-kept)) + " bytes more are left out of this report]"
}

func encodedSize(text string) (size int) {
	for rest := text; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		size += encodedRune(r, n)
		rest = rest[n:]
	}
	return size
}

// encodedRune is how many bytes a rune of n bytes takes in JSON at most, in the
// way of any encoder.
func encodedRune(r rune, n int) int {
	switch {
	case r == utf8.RuneError && n == 1, r < ' ', r == 0x7f, r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029':
		return len(`\u0000`)
	case r == '"', r == '\\':
		return 2
	}
	return n
}
