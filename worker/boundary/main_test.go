package boundary

import (
	"os"
	"strings"
	"testing"

	"github.com/fenceline/fenceline/docs/blocks"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestMain(m *testing.M) {
	if encoded := os.Getenv(senderRole); encoded != "" {
		os.Exit(runSender(encoded))
	}
	storetest.Main(m)
}

// document is where the scripts and statements under test stand.
const document = "../../docs/fencing.md"

// passage is the block of the document that holds the words.
func passage(t *testing.T, lang, words string) string {
	t.Helper()
	all, err := blocks.Read(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if b.Lang == lang && strings.Contains(b.Text, words) {
			return b.Text
		}
	}
	t.Fatalf("%s holds no block of %s with %q", document, lang, words)
	return ""
}
