package main

import (
	"strings"
	"testing"
)

func TestTheDoctorSaysWhatToDoAndExitsWith1WhenACheckFails(t *testing.T) {
	t.Parallel()
	empty := emptyDatabase(t)
	r := runWith(t, onDB(empty), "", "doctor").wants(t, exitRefused)
	for _, words := range []string{"fail  schema_version", "→ Run `fenceline migrate`.", "to look at"} {
		if !strings.Contains(r.out, words) {
			t.Errorf("it does not say %q:\n%s", words, r.out)
		}
	}
	if r.err != "" {
		t.Errorf("standard error: %s", r.err)
	}
	if found := runWith(t, onDB(empty), "", "doctor", "--json").wants(t, exitRefused).object(t); found["ok"] != false {
		t.Errorf("it found %v", found)
	}
}

func TestTheDoctorExitsWith0OnAServerOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	runWith(t, inDir(dir), "", "migrate").wants(t, exitOK)
	found := runWith(t, inDir(dir), "", "doctor", "--json").wants(t, exitOK).object(t)
	same(t, "ok", found["ok"], true)
	same(t, "the number of failed checks", found["failed"], 0)
	if checks, _ := found["checks"].([]any); len(checks) < 20 {
		t.Errorf("there are %d checks", len(checks))
	}
}

func TestTheDoctorSaysThatTheDatabaseCannotBeReached(t *testing.T) {
	t.Parallel()
	r := runWith(t, onDB("postgres://u:tellnobody@127.0.0.1:1/x"), "", "doctor").wants(t, exitRefused)
	if !strings.Contains(r.out, "fail  reachable") || !strings.Contains(r.out, "no server listens at 127.0.0.1:1: connection refused") || !strings.Contains(r.out, "1 check, 1 failed") || strings.Contains(r.out+r.err, "tellnobody") {
		t.Errorf("it says: %s%s", r.out, r.err)
	}
}
