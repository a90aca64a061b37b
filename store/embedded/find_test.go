//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeServer is a directory with programs that only say a version.
func fakeServer(t *testing.T, version string, works bool) string {
	t.Helper()
	dir := home(t)
	script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
	if !works {
		script += "exit 127\n"
	}
	for _, name := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func versions(found []binaries) []string {
	var all []string
	for _, b := range found {
		all = append(all, b.version)
	}
	return all
}

func TestOfThePackagedServersTheNewestThatRunsComesFirst(t *testing.T) {
	t.Parallel()
	dirs := []string{
		fakeServer(t, "9.6.24", true), fakeServer(t, "17.1 (Debian 17.1-1)", true),
		fakeServer(t, "18.0", false), fakeServer(t, "15.20", true), "/nowhere",
	}
	got := versions(newestFirst(working(dirs, mustAccount(t, layout{"/nowhere"}))))
	if want := []string{"17.1", "15.20"}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestAClusterGetsTheServerThatMadeItThoughANewerOneIsThere(t *testing.T) {
	t.Parallel()
	found := []binaries{{"/17", "17.1"}, {"/15", "15.20"}, {"/16", "16.2"}}
	for major, dir := range map[string]string{"": "/17", "17": "/17", "15": "/15", "16": "/16"} {
		got, err := pick(found, major, layout{"/d"})
		if err != nil || got.dir != dir {
			t.Errorf("a cluster of %q gets %v, %v", major, got, err)
		}
	}
	if _, err := pick(found, "14", layout{"/d"}); !errors.Is(err, ErrVersion) {
		t.Errorf("a cluster of 14 gets %v", err)
	}
}

func TestPATHIsSearchedThroughItsLinks(t *testing.T) {
	real := fakeServer(t, "15.1", true)
	links := home(t)
	if err := os.Symlink(filepath.Join(real, "postgres"), filepath.Join(links, "postgres")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGBIN", "")
	t.Setenv("PATH", links+":"+os.Getenv("PATH"))
	found := candidates("", mustAccount(t, layout{"/nowhere"}))
	if len(found) == 0 || found[0].dir != real {
		t.Errorf("found %v, want %s first", found, real)
	}
}

func TestAServerThatCannotBeRunIsNamedInOneSentence(t *testing.T) {
	t.Setenv("PGBIN", "")
	empty := home(t)
	for name, cfg := range map[string]Config{"given": {BinDir: empty}, "PGBIN": {}} {
		t.Run(name, func(t *testing.T) {
			if cfg.BinDir == "" {
				t.Setenv("PGBIN", empty)
			}
			cfg.DataDir = filepath.Join(empty, "state")
			_, err := Start(bounded(t), cfg)
			if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), empty) {
				t.Errorf("the start says %v", err)
			}
		})
	}
	err := missing("", account{})
	if !errors.Is(err, ErrMissing) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), installCommand()) {
		t.Errorf("it says %v", err)
	}
}

func TestTheInstallCommandIsTheSystemsOwn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"NAME=\"Debian GNU/Linux\"\nID=debian\n":                     {"debian"},
		"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=9": {"rocky", "rhel", "centos", "fedora"},
		"": nil,
	} {
		if got := distributions(text); !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func TestADirectoryWithoutAServerIsNotFound(t *testing.T) {
	t.Parallel()
	dir := made(t)
	if _, err := Find(dir); !errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), dir) {
		t.Errorf("Find says %v", err)
	}
	s := mustStart(t, quick(dir))
	url, err := Find(dir)
	if err != nil || url("some/db", "u@x") != s.URL("some/db", "u@x") {
		t.Errorf("Find leads elsewhere: %v", err)
	}
	mustStop(t, s)
	if _, err := Find(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after Stop, Find says %v", err)
	}
}

func TestAnAddressSurvivesNamesThatNeedEscaping(t *testing.T) {
	t.Parallel()
	s := mustStart(t, quick(made(t)))
	ask(t, s, `create role "o'hara @ / home?" login superuser`)
	conn := connect(t, s.URL("postgres", "o'hara @ / home?"))
	var user string
	if err := conn.QueryRow(bounded(t), `select current_user::text`).Scan(&user); err != nil || user != "o'hara @ / home?" {
		t.Errorf("%q, %v", user, err)
	}
}
