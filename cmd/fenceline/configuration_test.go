package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// page is the one that tells every flag and variable.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// flagsOf are the flags of every verb that is for people, by the verb's path.
func flagsOf(t *testing.T) map[string][]*kong.Flag {
	t.Helper()
	parser, err := newParser(&cli{}, streams{os.Stdin, os.Stdout, os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]*kong.Flag{}
	for _, leaf := range parser.Model.Leaves(true) {
		for _, group := range leaf.AllFlags(true) {
			all[leaf.Path()] = append(all[leaf.Path()], group...)
		}
	}
	return all
}

func TestThePageNamesEveryFlagItsVariableAndItsDefault(t *testing.T) {
	t.Parallel()
	rows := strings.Split(page(t), "\n")
	for verb, flags := range flagsOf(t) {
		for _, f := range flags {
			row := slices.IndexFunc(rows, func(row string) bool {
				return strings.HasPrefix(row, "|") && strings.Contains(row, "`--"+f.Name+"`") && hasAll(row, f)
			})
			if row < 0 {
				t.Errorf("no row tells --%s of %s, its variable %v and its default %q", f.Name, verb, f.Envs, f.Default)
			}
		}
	}
}

func hasAll(row string, f *kong.Flag) bool {
	for _, env := range f.Envs {
		if !strings.Contains(row, "`"+env+"`") {
			return false
		}
	}
	return f.Default == "" || strings.Contains(row, "`"+f.Default+"`")
}

func TestThePageNamesNoFlagOrVariableThatDoesNotExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"FENCELINE_TEST_DATABASE_URL": true}
	for _, flags := range flagsOf(t) {
		for _, f := range flags {
			known["--"+f.Name] = true
			for _, env := range f.Envs {
				known[env] = true
			}
		}
	}
	for _, word := range regexp.MustCompile(`--[a-z][a-z-]+|FENCELINE_[A-Z_]+|DATABASE_URL`).FindAllString(page(t), -1) {
		if !known[word] {
			t.Errorf("%s is told, but does not exist", word)
		}
	}
}

func TestVariablesAreNamedAfterTheirFlags(t *testing.T) {
	t.Parallel()
	others := map[string]string{"DATABASE_URL": "database-url", "PGBIN": "postgres-bin"}
	for verb, flags := range flagsOf(t) {
		for _, f := range flags {
			for _, env := range f.Envs {
				want := "FENCELINE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
				if env != want && others[env] != f.Name {
					t.Errorf("--%s of %s is read from %s, not %s", f.Name, verb, env, want)
				}
			}
		}
	}
}

func TestAFlagWinsOverItsVariable(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	env := append(onDB("postgres://127.0.0.1:1/nowhere"), "FENCELINE_LOG_LEVEL=error")
	runWith(t, env, "", "jobs", "list", "--database-url", db).wants(t, exitOK)
	runWith(t, append(onDB(db), "FENCELINE_LEASE=soon"), "", "worker").complains(t, exitUsage, "lease")
}

func TestAVariableThatNothingReadsIsNamedWithTheNearestAndItsValueIsNot(t *testing.T) {
	t.Parallel()
	env := []string{"FENCELINE_DATABASE_URL=postgres://me:secret@db/x", "FENCELINE_GRASE=1m", "FENCELINE_QUEUES=mail=4", "FENCELINE_LOG_FORMAT=json",
		"FENCELINE_TEST_ANYTHING=1", "FENCELINE_JOB_ID=7", "FENCELINE_SERVICE_HOST=10.0.0.1", "FENCELINE_PORT_8080_TCP_ADDR=10.0.0.1", "FENCELINE_CONSOLE_PORT=tcp://10.0.0.1:80"}
	r := runWith(t, env, "", "version").wants(t, exitOK)
	var said []string
	for line := range strings.Lines(r.err) {
		var l struct{ Level, Variable, Nearest string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Level != "WARN" {
			t.Errorf("%v: %s", err, line)
		}
		said = append(said, l.Variable+"~"+l.Nearest)
	}
	same(t, "what is warned of", strings.Join(said, " "), "FENCELINE_DATABASE_URL~DATABASE_URL FENCELINE_GRASE~FENCELINE_GRACE FENCELINE_QUEUES~FENCELINE_QUEUE")
	if strings.Contains(r.err, "secret") {
		t.Errorf("a value is shown: %s", r.err)
	}
}
