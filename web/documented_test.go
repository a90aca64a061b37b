package web_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the table of the security document says is shown by a test, is.
func TestTheSecurityDocumentNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		all.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`).FindAllString(string(doc), -1)
	if len(named) < 30 {
		t.Errorf("the table names %d tests", len(named))
	}
	for _, name := range named {
		if !strings.Contains(all.String(), "\nfunc "+name+"(") {
			t.Errorf("there is no %s", name)
		}
	}
}
