package views

import (
	"strings"
	"testing"

	"github.com/fenceline/fenceline/store"
)

// Who lacks a right is told of it only where the right would help.
func TestATextThatIsKeptBackSaysByWhat(t *testing.T) {
	kept := store.AttemptFailure{AttemptError: store.AttemptError{Class: "refused"}, ErrorKept: true, OutputKept: true}
	never := kept
	never.ErrorNever, never.OutputNever = true, true
	const lacks, rule = "Seeing payloads needs the right reveal.", "A rule keeps it from everybody."
	for _, c := range []struct {
		of       store.AttemptFailure
		withheld string
		want     string
	}{{kept, lacks, lacks}, {never, lacks, rule}, {never, "", rule}} {
		html := render(t, errorEntry(errorGroup{c.of, []store.AttemptFailure{c.of}}, frame(), c.withheld))
		if strings.Count(html, c.want) != 2 || strings.Count(html, rule)+strings.Count(html, lacks) != 2 {
			t.Errorf("never %v, withheld %q: %s", c.of.ErrorNever, c.withheld, html)
		}
	}
}
