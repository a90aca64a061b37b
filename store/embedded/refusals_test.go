//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAnotherMajorVersionIsRefusedInClearWordsAndNothingIsTouched(t *testing.T) {
	t.Parallel()
	dir := made(t)
	l := layout{dir}
	s := mustStart(t, quick(dir))
	remember(t, s)
	mustStop(t, s)
	made, err := os.ReadFile(l.version())
	if err != nil {
		t.Fatal(err)
	}
	forge(t, l, l.version(), "9\n")
	before := contents(t, l.data())
	_, err = Start(bounded(t), quick(dir))
	if !errors.Is(err, ErrVersion) {
		t.Fatalf("the start says %v", err)
	}
	for _, said := range []string{"PostgreSQL 9", strings.TrimSpace(string(made)) + ".", dir, "nothing was changed"} {
		if !strings.Contains(err.Error(), said) {
			t.Errorf("%q does not say %q", err, said)
		}
	}
	if !maps.Equal(before, contents(t, l.data())) {
		t.Error("the refusal changed files")
	}
	forge(t, l, l.version(), string(made))
	mustRemember(t, mustStart(t, quick(dir)))
}

func TestADirectoryThatHoldsSomethingElseIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	for what, file := range map[string]string{"a cluster's place": "data/letters.txt", "a PostgreSQL data directory": "PG_VERSION"} {
		t.Run(what, func(t *testing.T) {
			dir := home(t)
			if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, file), "dear friend")
			before := contents(t, filepath.Join(dir, "data"))
			if _, err := Start(bounded(t), quick(dir)); err == nil || !strings.Contains(err.Error(), dir) {
				t.Errorf("the start says %v", err)
			}
			if !maps.Equal(before, contents(t, filepath.Join(dir, "data"))) {
				t.Error("files changed")
			}
		})
	}
}

func TestAnEmptyPlaceForTheClusterIsUsed(t *testing.T) {
	t.Parallel()
	dir := home(t)
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	mustStart(t, quick(dir))
}

func TestAPathTooLongForASocketStillWorks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(home(t), strings.Repeat("long/", 20)+strings.Repeat("n", 60))
	s := mustStart(t, quick(dir))
	remember(t, s)
	url, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := connect(t, url(Superuser, Superuser)).Ping(bounded(t)); err != nil {
		t.Error(err)
	}
	if !fits(s.runDir) || !strings.HasPrefix(s.runDir, "/tmp/") {
		t.Errorf("the socket lies in %s", s.runDir)
	}
	mustStop(t, s)
	if _, err := os.Stat(s.runDir); err == nil {
		t.Error("the socket's directory was left behind")
	}
	mustRemember(t, mustStart(t, quick(dir)))
}

func TestRootMayKeepTheDataWhereTheServersUserCannotGo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 || inheritedDir == "" {
		t.Skip("only root, and only where a directory can be handed over open")
	}
	dir := filepath.Join(t.TempDir(), "below a closed directory")
	s := mustStart(t, quick(dir))
	remember(t, s)
	if _, err := Find(dir); err != nil {
		t.Error(err)
	}
	mustStop(t, s)
	mustRemember(t, mustStart(t, quick(dir)))
}

func TestAFullDiskIsSaidInClearWordsAndLosesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a small disk")
	}
	t.Run("while the cluster is made", func(t *testing.T) {
		dir := smallDisk(t, "16m")
		_, err := Start(bounded(t), quick(dir))
		mustSayFull(t, err, dir)
		if _, err := os.Stat((layout{dir}).unborn()); err == nil {
			t.Error("the half-made cluster was left on the full disk")
		}
	})
	t.Run("when the server starts", func(t *testing.T) {
		dir := smallDisk(t, "120m")
		small := quick(dir)
		small.Settings["min_wal_size"], small.Settings["max_wal_size"] = "32MB", "32MB"
		s := mustStart(t, small)
		remember(t, s)
		mustStop(t, s)
		filler := filepath.Join(dir, "filler")
		f, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		for chunk := make([]byte, 4096); err == nil; _, err = f.Write(chunk) {
		}
		f.Close()
		_, err = Start(bounded(t), small)
		mustSayFull(t, err, dir)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		mustRemember(t, mustStart(t, small))
	})
}

func TestAFullDiskThatAKilledServerComesBackToIsSaidInClearWords(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a small disk")
	}
	dir := smallDisk(t, "120m")
	small := quick(dir)
	small.Settings["min_wal_size"], small.Settings["max_wal_size"] = "32MB", "32MB"
	s := mustStart(t, small)
	remember(t, s)
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	s.Stop(bounded(t))
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := make([]byte, 4096); err == nil; _, err = f.Write(chunk) {
	}
	f.Close()
	if again, err := Start(bounded(t), small); !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), dir) {
		t.Errorf("the start says %v", err)
		if again != nil {
			mustStop(t, again)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	mustRemember(t, mustStart(t, small))
}

func TestADamagedVersionIsSaidAndTheClusterLeftAsItIs(t *testing.T) {
	t.Parallel()
	dir := made(t)
	l := layout{dir}
	for _, text := range []string{"", "\n", "fifteen\n"} {
		forge(t, l, l.version(), text)
		before := contents(t, l.data())
		if _, err := Start(bounded(t), quick(dir)); err == nil || !strings.Contains(err.Error(), l.version()) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("with %q the start says %v", text, err)
		}
		if !maps.Equal(before, contents(t, l.data())) {
			t.Error("files changed")
		}
	}
}

func TestAServerThatStartsWellSaysNothingOfTrouble(t *testing.T) {
	t.Parallel()
	dir := made(t)
	mustStart(t, quick(dir))
	said, err := os.ReadFile(layout{dir}.log())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(said)) {
		if !strings.Contains(line, "LOG:  ") {
			t.Errorf("it said %s", line)
		}
	}
}

func mustSayFull(t *testing.T, err error, dir string) {
	t.Helper()
	if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), dir) || !strings.Contains(strings.ToLower(err.Error()), "no space left on device") {
		t.Errorf("the start says %v", err)
	}
}

func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := home(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=755,size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be made here: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	return dir
}

func TestEverythingWorksForAPlainUserToo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is one")
	}
	t.Parallel()
	dir := home(t)
	exe := filepath.Join(dir, "embedded.test")
	copyExecutable(t, exe)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.v", "-test.run", "TestAColdStart|TestASecondProcess|TestAfter|TestAServerThatOutlived|TestAPIDFileThatNamesSomething|TestAPath|TestADataDirectoryOf")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.Dir = dir
	nobody := account{name: "nobody"}
	if who := mustAccount(t, layout{filepath.Join(dir, "none")}); who.cred != nil {
		nobody = who
	}
	cmd.SysProcAttr = attributes(nobody, dieWithParent)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestAColdStart") {
		t.Errorf("as %s: %v\n%s", nobody, err, out)
	}
}

func TestADataDirectoryOfAnotherUserIsRefusedInClearWords(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may go anywhere")
	}
	_, err := Start(bounded(t), quick("/var/lib"))
	if err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("the start says %v", err)
	}
}

func copyExecutable(t *testing.T, to string) {
	t.Helper()
	from, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
}
