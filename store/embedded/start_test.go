//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestAColdStartAndAWarmOneKeepTheData(t *testing.T) {
	t.Parallel()
	cfg := Config{DataDir: filepath.Join(home(t), "not", "made", "yet")}
	first := mustStart(t, cfg)
	remember(t, first)
	mustStop(t, first)
	second := mustStart(t, cfg)
	mustRemember(t, second)
}

func TestTheServerIsSetUpForAQueueThatMustNotLoseWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	s := mustStart(t, Config{DataDir: made(t), Settings: map[string]string{"work_mem": "3MB", "listen_addresses": "*"}})
	for name, want := range map[string]string{
		"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "data_checksums": "on",
		"server_encoding": "UTF8", "timezone": "UTC", "listen_addresses": "", "max_connections": "200",
		"work_mem": "3MB", "idle_in_transaction_session_timeout": "0",
	} {
		if got := ask(t, s, `select current_setting('`+name+`')`); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := ask(t, s, `select current_user || ' ' || current_database()`); got != "fenceline fenceline" {
		t.Errorf("the cluster's user and database are %q", got)
	}
}

func TestASecondProcessOnTheSameDirectoryIsToldSoAndHarmsNothing(t *testing.T) {
	t.Parallel()
	dir := home(t)
	owner := runApp(t, dir)
	_, err := Start(bounded(t), quick(dir))
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("the second start says %v", err)
	}
	for _, said := range []string{dir, fmt.Sprintf("pid %d", owner.cmd.Process.Pid)} {
		if !strings.Contains(err.Error(), said) {
			t.Errorf("%q does not name %s", err, said)
		}
	}
	url, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := connect(t, url(Superuser, Superuser)).Ping(bounded(t)); err != nil {
		t.Errorf("the first server suffered: %v", err)
	}
	owner.stdin.Close()
	if err := owner.cmd.Wait(); err != nil {
		t.Errorf("the first process ended with %v", err)
	}
}

func TestOfManyStartsAtOnceOnAnEmptyDirectoryOneWins(t *testing.T) {
	t.Parallel()
	dir := home(t)
	var mu sync.Mutex
	var won []*Server
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			s, err := Start(bounded(t), quick(dir))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, s)
			} else if !errors.Is(err, ErrInUse) {
				t.Errorf("a loser says %v", err)
			}
		})
	}
	group.Wait()
	if len(won) != 1 {
		t.Errorf("%d starts won", len(won))
	}
	for _, s := range won {
		mustStop(t, s)
	}
}

func TestStopEndsOpenTransactionsAndComesBackInTime(t *testing.T) {
	t.Parallel()
	dir := made(t)
	s := mustStart(t, quick(dir))
	conn := connect(t, s.URL(Superuser, Superuser))
	if _, err := conn.Exec(bounded(t), `begin; create table half_done ()`); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	mustStop(t, s)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	select {
	case <-s.Done():
	default:
		t.Error("Done is not closed after Stop")
	}
	if err := s.Err(); err != nil {
		t.Errorf("a stopped server says %v", err)
	}
	if _, err := os.Stat(layout{dir}.pidFile()); err == nil {
		t.Error("the server did not shut down in order: its pid file is still there")
	}
}

func TestStopGivesUpOnAServerThatDoesNotAnswerWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	dir := made(t)
	s := mustStart(t, quick(dir))
	remember(t, s)
	if err := syscall.Kill(s.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop says %v", err)
	}
	<-s.Done()
	mustRemember(t, mustStart(t, quick(dir)))
}

func TestAStartThatIsCalledOffLeavesNoServerBehind(t *testing.T) {
	t.Parallel()
	dir := made(t)
	mustStop(t, mustStart(t, quick(dir)))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Start(ctx, quick(dir)); !errors.Is(err, context.Canceled) {
		t.Fatalf("the start says %v", err)
	}
	if _, err := Find(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("a server was left: %v", err)
	}
	mustStart(t, quick(dir))
}

func TestTheServerHasAProcessGroupOfItsOwn(t *testing.T) {
	t.Parallel()
	s := mustStart(t, quick(made(t)))
	group, err := syscall.Getpgid(s.PID())
	if err != nil {
		t.Fatal(err)
	}
	if group == syscall.Getpgrp() {
		t.Error("Ctrl-C would reach the server together with its owner")
	}
}

func TestTheLogHoldsNoValuesOfStatementsThatFail(t *testing.T) {
	t.Parallel()
	dir := made(t)
	s := mustStart(t, quick(dir))
	conn := connect(t, s.URL(Superuser, Superuser))
	if _, err := conn.Exec(bounded(t), `create table keys (key text primary key); insert into keys values ('tell-nobody'), ('tell-nobody')`); err == nil {
		t.Fatal("the statement passed")
	}
	mustStop(t, s)
	text, err := os.ReadFile(layout{dir}.log())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "ready to accept connections") || strings.Contains(string(text), "tell-nobody") {
		t.Errorf("the log says:\n%s", text)
	}
}
