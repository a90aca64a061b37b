package main

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// folderRow is a row of the tree in docs/architecture.md: a folder, what it is,
// what it imports.
var folderRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.+) \\| ([^|]+) \\|$")

func TestTheArchitecturePageSaysWhatEveryPackageImports(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, row := range folderRow.FindAllStringSubmatch(string(page), -1) {
		rows[row[1]] = row[2:]
	}
	const module = "github.com/fenceline/fenceline/"
	listed, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(listed)) {
		words := strings.Fields(line)
		of := strings.TrimPrefix(words[0], module)
		row, ok := rows[of]
		if above := rows[path.Dir(of)]; !ok && above != nil && strings.Contains(above[0], "`"+path.Base(of)+"`") {
			known[of] = true
			continue
		}
		if !ok {
			t.Errorf("no row says what %s is", of)
			continue
		}
		known[of] = true
		if of == "cmd/fenceline" {
			continue
		}
		var imports []string
		for _, name := range words[1:] {
			if in, ours := strings.CutPrefix(name, module); ours {
				imports = append(imports, in)
			}
		}
		var said []string
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			said = append(said, name[1])
		}
		slices.Sort(imports)
		slices.Sort(said)
		if !slices.Equal(imports, said) {
			t.Errorf("%s imports %v; its row says %v", of, imports, said)
		}
	}
	for folder := range rows {
		if !known[folder] {
			t.Errorf("there is no package %s", folder)
		}
	}
}
