package blocks

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const readme = "../../README.md"

func documents(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../*.md")
	if err != nil || len(found) < 4 {
		t.Fatalf("found %d documents, %v", len(found), err)
	}
	return append(found, readme)
}

// prose is a document without its blocks, which hold other people's brackets.
func prose(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(string(text), "")
}

// anchor is the name that renderers give a heading.
func anchor(heading string) string {
	kept := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(strings.TrimSpace(kept), " ", "-")
}

func anchors(t *testing.T, path string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(prose(t, path), -1) {
		all[anchor(m[1])] = true
	}
	return all
}

func TestEveryLinkWithinTheDocumentsLeadsSomewhere(t *testing.T) {
	t.Parallel()
	links := 0
	for _, path := range documents(t) {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(prose(t, path), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, fragment, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s leads nowhere", path, m[1])
			} else if fragment != "" && !anchors(t, target)[fragment] {
				t.Errorf("%s: %s names no heading", path, m[1])
			}
		}
	}
	if links < 20 {
		t.Errorf("only %d links were found", links)
	}
}

func TestTheReadmeListsEveryDocument(t *testing.T) {
	t.Parallel()
	index := prose(t, readme)
	for _, path := range documents(t) {
		if path != readme && !strings.Contains(index, "](docs/"+filepath.Base(path)+")") {
			t.Errorf("the README does not lead to docs/%s", filepath.Base(path))
		}
	}
}
