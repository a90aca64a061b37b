// Package blocks reads the code blocks of the product's documents, so that
// tests run what readers copy.
package blocks

import (
	"fmt"
	"os"
	"strings"
)

// Block is one fenced block of a document.
type Block struct {
	Lang    string // the first word after the fence; empty when there is none
	Text    string // without the fences, ending in a newline
	Heading string // the nearest heading above, without its marks
	Line    int    // of the opening fence, from 1
	Follows bool   // nothing but empty lines stands between it and the block before
	NotRun  string // why tests leave it alone, as its readers are told; empty for all others
}

// notRun begins the line above a block that tests cannot run. Readers see it.
const notRun = "*Not run by the tests: "

// closed stands for the last line while it is the end of a block.
const closed = "```"

// Read returns the blocks of a document in order.
func Read(path string) ([]Block, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	found, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return found, nil
}

func parse(text string) ([]Block, error) {
	var (
		all     []Block
		open    *Block
		indent  string // of the opening fence, in a list
		heading string
		above   string // the last line that is not empty
	)
	for i, line := range strings.Split(text, "\n") {
		bare := strings.TrimLeft(line, " ")
		switch {
		case open == nil && strings.HasPrefix(bare, "```"):
			indent = line[:len(line)-len(bare)]
			lang, _, _ := strings.Cut(strings.TrimPrefix(bare, "```"), " ")
			open = &Block{Lang: lang, Heading: heading, Line: i + 1, Follows: above == closed}
			if why, ok := strings.CutPrefix(strings.TrimSpace(above), notRun); ok {
				open.NotRun = strings.TrimSuffix(why, "*")
			}
		case open != nil && strings.HasPrefix(bare, "```"):
			all = append(all, *open)
			open, above = nil, closed
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		case strings.HasPrefix(line, "#"):
			heading, above = strings.TrimSpace(strings.TrimLeft(line, "#")), ""
		case bare != "":
			above = line
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%d: the block is not closed", open.Line)
	}
	return all, nil
}
