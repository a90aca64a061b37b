package blocks

import (
	"slices"
	"testing"
)

func TestBlocksAreReadAsTheyStand(t *testing.T) {
	t.Parallel()
	got, err := parse("# One\n\n```sh\nmake run\n\nmake stop\n```\n\n## Two\n\n*Not run by the tests: it needs a cluster.*\n\n```sh\nkubectl get pods\n```\n" +
		"\n- in a list\n\n  ```go\n  if x {\n  \treturn\n  }\n  ```\n\n```\nplain\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{"sh", "make run\n\nmake stop\n", "One", 3, false, ""},
		{"sh", "kubectl get pods\n", "Two", 13, false, "it needs a cluster."},
		{"go", "if x {\n\treturn\n}\n", "Two", 19, false, ""},
		{"", "plain\n", "Two", 25, true, ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("read\n%+v\nwant\n%+v", got, want)
	}
}

func TestABlockThatIsNotClosedIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := parse("text\n```sh\nmake run\n"); err == nil {
		t.Error("it was read as a block")
	}
}

func TestAReasonBelongsToTheNextBlockAlone(t *testing.T) {
	t.Parallel()
	got, err := parse("*Not run by the tests: so.*\n```sh\na\n```\n```sh\nb\n```\n")
	if err != nil || len(got) != 2 || got[0].NotRun != "so." || got[1].NotRun != "" {
		t.Errorf("read %+v, %v", got, err)
	}
}
