package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func packed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("package", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestThePackageNamesOnlyVerbsAndVariablesThatExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for verb, flags := range flagsOf(t) {
		known[strings.TrimPrefix(verb, "fenceline ")] = true
		for _, f := range flags {
			for _, env := range f.Envs {
				known[env] = true
			}
		}
	}
	for _, file := range []string{"fenceline.service", "fenceline-worker@.service", "fenceline.default", "Containerfile"} {
		for _, word := range regexp.MustCompile(`FENCELINE_[A-Z_]+|DATABASE_URL`).FindAllString(packed(t, file), -1) {
			if !known[word] {
				t.Errorf("%s: %s does not exist", file, word)
			}
		}
	}
	for _, unit := range []string{"fenceline.service", "fenceline-worker@.service"} {
		verb := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/fenceline (.*)$`).FindStringSubmatch(packed(t, unit))
		if verb == nil || !known[verb[1]] {
			t.Errorf("%s starts %v", unit, verb)
		}
	}
	release, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile(`(?:src|postinstall|preremove): (\S+)`).FindAllStringSubmatch(string(release), -1)
	if len(files) < 7 {
		t.Errorf("the release file names %d files", len(files))
	}
	for _, f := range files {
		if _, err := os.Stat(filepath.Join("../..", f[1])); err != nil {
			t.Errorf("the release file: %v", err)
		}
	}
}

func TestTheUnitsAreHardened(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"fenceline.service", "fenceline-worker@.service"} {
		for _, line := range []string{"NoNewPrivileges=true", "ProtectSystem=strict", "CapabilityBoundingSet=", "SystemCallFilter=@system-service",
			"PrivateTmp=true", "User=fenceline", "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX"} {
			if !strings.Contains(packed(t, unit), "\n"+line+"\n") {
				t.Errorf("%s has no %s", unit, line)
			}
		}
	}
}

// systemd itself reads the units, where it is installed.
func TestSystemdTakesTheUnits(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here; the unit files were looked at by the other tests only")
	}
	dir := t.TempDir()
	for _, unit := range []string{"fenceline.service", "fenceline-worker@.service"} {
		text := strings.Replace(packed(t, unit), "/usr/bin/fenceline", os.Args[0], 1)
		if err := os.WriteFile(filepath.Join(dir, unit), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(analyze, "verify", filepath.Join(dir, unit)).CombinedOutput()
		if err != nil || strings.Contains(string(out), unit) {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}
