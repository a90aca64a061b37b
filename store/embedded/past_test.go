//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestAfterTheOwnerIsKilledTheNextStartHasTheData(t *testing.T) {
	t.Parallel()
	dir := made(t)
	first := mustStart(t, quick(dir))
	remember(t, first)
	mustStop(t, first)
	runApp(t, dir).kill()
	mustRemember(t, mustStart(t, quick(dir)))
}

func TestAfterOwnerAndServerAreKilledTheNextStartRecovers(t *testing.T) {
	t.Parallel()
	dir := made(t)
	owner := runApp(t, dir)
	url, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	// An idle connection keeps a process of the dead server around for a moment.
	conn := connect(t, url(Superuser, Superuser))
	if _, err := conn.Exec(bounded(t), `create table kept as select 'kept'::text as what`); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(owner.server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	owner.kill()
	mustRemember(t, mustStart(t, quick(dir)))
}

func TestAServerThatDiesOnItsOwnIsNoticedAndStartsAgain(t *testing.T) {
	t.Parallel()
	dir := made(t)
	s := mustStart(t, quick(dir))
	remember(t, s)
	if err := s.Err(); err != nil {
		t.Errorf("a server that runs says %v", err)
	}
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "ended on its own") {
		t.Errorf("it says %v", err)
	}
	mustStop(t, s)
	mustRemember(t, mustStart(t, quick(dir)))
}

func TestAServerThatOutlivedItsOwnerIsStoppedFirst(t *testing.T) {
	t.Parallel()
	dir := made(t)
	l := layout{dir}
	s := mustStart(t, quick(dir))
	remember(t, s)
	who := mustAccount(t, l)
	bins, err := choose("", who, "", l)
	if err != nil {
		t.Fatal(err)
	}
	mustStop(t, s)
	orphan := exec.Command(bins.postgres(), quick(dir).arguments(l.data(), s.runDir)...)
	orphan.Env, orphan.Dir = environment(), "/"
	orphan.SysProcAttr = attributes(who, 0)
	c, err := spawn(orphan, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { orphan.Process.Kill(); <-c.done })
	await(t, "the orphan is ready", func() bool {
		p, err := readPIDFile(l.pidFile())
		return err == nil && p.ready() && p.pid == orphan.Process.Pid
	})
	mustRemember(t, mustStart(t, quick(dir)))
	<-c.done
}

func TestAPIDFileThatNamesSomethingElseDoesNotStopAStart(t *testing.T) {
	t.Parallel()
	dir := made(t)
	l := layout{dir}
	s := mustStart(t, quick(dir))
	remember(t, s)
	pidFile, err := os.ReadFile(l.pidFile())
	if err != nil {
		t.Fatal(err)
	}
	mustStop(t, s)
	// The server ignores processes of other users, so this one is its own user's.
	other := exec.Command("sleep", "600")
	other.SysProcAttr = attributes(mustAccount(t, l), dieWithParent)
	c, err := spawn(other, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Process.Kill(); <-c.done })
	_, rest, _ := strings.Cut(string(pidFile), "\n")
	forged := strconv.Itoa(other.Process.Pid) + "\n" + rest
	forge(t, l, l.pidFile(), forged)
	forge(t, l, filepath.Join(l.run(), ".s.PGSQL."+socketPort+".lock"), forged)
	if _, err := Find(dir); err == nil {
		t.Error("Find took a stranger for the server")
	}
	mustRemember(t, mustStart(t, quick(dir)))
	if err := syscall.Kill(other.Process.Pid, 0); err != nil {
		t.Errorf("the stranger was harmed: %v", err)
	}
}

func TestAPIDFileThatNamesTheServerOfAnotherDirectoryHarmsNeither(t *testing.T) {
	t.Parallel()
	neighbour := mustStart(t, quick(made(t)))
	dir := made(t)
	l := layout{dir}
	s := mustStart(t, quick(dir))
	mustStop(t, s)
	forge(t, l, l.pidFile(), strconv.Itoa(neighbour.PID())+"\n"+l.data()+"\n1\n5432\n"+l.run()+"\n\n\nready\n")
	mustStart(t, quick(dir))
	if err := neighbour.Err(); err != nil {
		t.Error(err)
	}
	remember(t, neighbour)
}

func TestAnEmptyPIDFileOfAServerThatDiedWritingItIsRemoved(t *testing.T) {
	t.Parallel()
	dir := made(t)
	mustStop(t, mustStart(t, quick(dir)))
	forge(t, layout{dir}, layout{dir}.pidFile(), "")
	mustStart(t, quick(dir))
}

func TestAnOwnerKilledWhileItMakesTheClusterLeavesNothingInTheWay(t *testing.T) {
	t.Parallel()
	dir := home(t)
	cmd, _, _ := appCommand(t, dir)
	await(t, "initdb has begun", func() bool {
		_, err := os.Stat(filepath.Join(layout{dir}.unborn(), "PG_VERSION"))
		return err == nil
	})
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := os.Stat(layout{dir}.data()); err == nil {
		t.Skip("the cluster was finished before the kill")
	}
	remember(t, mustStart(t, quick(dir)))
}

func mustAccount(t *testing.T, l layout) account {
	t.Helper()
	who, err := accountFor(l)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

// forge writes a file into the server's directory as the server would.
func forge(t *testing.T, l layout, path, text string) {
	t.Helper()
	write(t, path, text)
	if who := mustAccount(t, l); who.cred != nil {
		if err := os.Chown(path, int(who.cred.Uid), int(who.cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
}
