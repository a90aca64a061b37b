package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// server is a serve that is ready.
type server struct {
	*process
	url string
}

// serve starts one on a free port.
func serve(t *testing.T, env []string, args ...string) *server {
	t.Helper()
	p := begin(t, env, append([]string{"serve", "--listen", "127.0.0.1:0", "--json"}, args...)...)
	s := &server{process: p}
	eventually(t, "the line that says where it serves", func() bool {
		select {
		case <-p.done:
			t.Fatalf("it ended: %s", p.err)
		default:
		}
		var line struct {
			URL string `json:"url"`
		}
		return json.Unmarshal([]byte(p.out.String()), &line) == nil && at(&s.url, strings.TrimSuffix(line.URL, "/"))
	})
	return s
}

func at(to *string, value string) bool { *to = value; return value != "" }

// get answers a status and a body.
func (s *server) get(path string) (int, string) {
	s.t.Helper()
	resp, err := http.Get(s.url + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func (s *server) isReady() bool {
	code, _ := s.get("/readyz")
	return code == http.StatusOK
}

// script is a program that jobs of the kind command may run.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOneCommandServesAConsoleAndWorksJobsOnADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	data := newDir(t)
	env := inDir(data)
	s := serve(t, env, "--command", "echo=/bin/cat")
	if !s.isReady() {
		t.Fatal("it is not ready")
	}
	args := `{"name": "echo", "input": {"n": 12345678901234567890.10}}`
	id := runWith(t, env, "", "enqueue", "command", "--args", args, "--json").wants(t, exitOK).object(t)["id"].(string)
	eventually(t, "the job's result", func() bool {
		return runWith(t, env, "", "jobs", "show", id, "--json").wants(t, exitOK).object(t)["state"] == "completed"
	})
	v := runWith(t, env, "", "jobs", "show", id, "--json").wants(t, exitOK)
	if !strings.Contains(v.out, `12345678901234567890.10`) {
		t.Errorf("the result lost digits: %s", v.out)
	}
	code, page := s.get("/jobs/" + id)
	if code != http.StatusOK || !strings.Contains(page, "command") {
		t.Errorf("the job's page answers %d", code)
	}

	aSecondServeHarmsNothing(t, s, env)

	s.signal(syscall.SIGKILL)
	s.wait()
	s = serve(t, env)
	same(t, "the job after a kill", runWith(t, env, "", "jobs", "show", id, "--json").wants(t, exitOK).object(t)["state"], "completed")
	runWith(t, env, "", "verify").wants(t, exitOK)

	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != exitOK {
		t.Fatalf("exit code %d: %s", code, s.err)
	}
	log, err := os.ReadFile(filepath.Join(data, "postgres.log"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(string(log)), "\n"); !strings.Contains(lines[len(lines)-1], "database system is shut down") {
		t.Errorf("the server's last words: %s", lines[len(lines)-1])
	}
	// Without a server, a verb runs one for its own duration.
	runWith(t, env, "", "jobs", "list").wants(t, exitOK)

	version := filepath.Join(data, "data", "PG_VERSION")
	if err := os.WriteFile(version, []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	runWith(t, env, "", "serve", "--listen", "127.0.0.1:0").complains(t, exitRefused, "PostgreSQL 9", "nothing was changed")
}

func aSecondServeHarmsNothing(t *testing.T, s *server, env []string) {
	t.Helper()
	address := strings.TrimPrefix(s.url, "http://")
	second := runWith(t, env, "", "serve", "--listen", "127.0.0.1:0", "--log-level", "warn")
	second.complains(t, exitRefused, "is in use", "data", strconv.Itoa(s.cmd.Process.Pid))
	runWith(t, env, "", "serve", "--listen", address).complains(t, exitRefused, "is taken", "already runs")
	other := newDir(t)
	runWith(t, inDir(other), "", "serve", "--listen", address).complains(t, exitRefused, "--listen", address, "is taken")
	if _, err := os.Stat(other); err == nil {
		t.Error("a serve that cannot listen made a data directory")
	}
	if !s.isReady() {
		t.Error("the first one is not ready any more")
	}
}

func TestWithoutServerProgramsTheCommandThatBringsThemIsNamed(t *testing.T) {
	t.Parallel()
	r := runWith(t, inDir(newDir(t)), "", "serve", "--listen", "127.0.0.1:0", "--postgres-bin", t.TempDir())
	r.complains(t, exitRefused, "PostgreSQL server", "initdb")
}

func TestServeSaysThatItsDatabaseServerDied(t *testing.T) {
	t.Parallel()
	s := serve(t, inDir(newDir(t)))
	pid := regexp.MustCompile(`"msg":"database server started".*"pid":(\d+)`).FindStringSubmatch(s.err.String())
	if pid == nil {
		t.Fatalf("the log names no server: %s", s.err)
	}
	n, _ := strconv.Atoi(pid[1])
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(); code != exitRefused || !strings.Contains(s.err.String(), "fenceline: the database server ended on its own") {
		t.Errorf("exit code %d: %s", code, s.err)
	}
}

func TestATermLetsRunningJobsFinishAndStreamsEndAtOnce(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	release := filepath.Join(t.TempDir(), "release")
	s := serve(t, onDB(db), "--grace", "30s", "--workers", "3",
		"--command", "wait="+script(t, `while [ ! -e "`+release+`" ]; do sleep 0.05; done; echo '"done"'`))
	st := openStore(t, db)
	for range 3 {
		_, err := st.Enqueue(t.Context(), store.Request{Kind: "command", Args: json.RawMessage(`{"name": "wait"}`)})
		if err != nil {
			t.Fatal(err)
		}
	}
	count := func(state string) int {
		return query[int](t, db, `select count(*) from fenceline.jobs where state::text = $1`, state)
	}
	eventually(t, "three running jobs", func() bool { return count("running") == 3 })
	ended := openStream(t, s.url+"/stream?topic=job:1")

	s.signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the stream goes on")
	}
	select {
	case <-s.done:
		t.Fatalf("it ended before its jobs did: %s", s.err)
	default:
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(); code != exitOK {
		t.Fatalf("exit code %d: %s", code, s.err)
	}
	same(t, "completed jobs", count("completed"), 3)
	same(t, "claims", query[int](t, db, `select count(*) from fenceline.transitions where type = 'claimed'`), 3)
}

func TestATermEndsInTimeAlthoughJobsDoNot(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	s := serve(t, onDB(db), "--grace", "4s", "--command", "stuck="+script(t, "trap '' TERM; sleep 600"))
	st := openStore(t, db)
	if _, err := st.Enqueue(t.Context(), store.Request{Kind: "command", Args: json.RawMessage(`{"name": "stuck"}`)}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a running job", func() bool {
		return query[int](t, db, `select count(*) from fenceline.jobs where state = 'running'`) == 1
	})
	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != exitOK {
		t.Fatalf("exit code %d: %s", code, s.err)
	}
	same(t, "given back", query[string](t, db, `select state::text from fenceline.jobs`), "available")
}

// openStream reads a stream until it ends.
func openStream(t *testing.T, url string) <-chan struct{} {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the stream answers %s", resp.Status)
	}
	ended, first := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for n := 0; lines.Scan(); n++ {
			if n == 0 {
				close(first)
			}
		}
	}()
	select {
	case <-first:
	case <-time.After(patience):
		t.Fatal("the stream says nothing")
	}
	return ended
}

func TestServeOnADatabaseOfOnesOwnMigratesIt(t *testing.T) {
	t.Parallel()
	db := emptyDatabase(t)
	s := serve(t, onDB(db), "--workers", "0", "--prefix", "/ops/leases/")
	if !strings.HasSuffix(s.url, "/ops/leases") {
		t.Errorf("it serves on %s", s.url)
	}
	if code, _ := s.get("/"); code != http.StatusOK {
		t.Errorf("home answers %d", code)
	}
	runWith(t, onDB(db), "", "jobs", "list").wants(t, exitOK)
	s.signal(syscall.SIGINT)
	same(t, "the exit code", s.wait(), exitOK)
}

func TestServeAsARoleThatMayNotChangeTheSchemaSaysWhatToDo(t *testing.T) {
	t.Parallel()
	db := emptyDatabase(t)
	runtime := asRole(t, db, "plain_role")
	r := runWith(t, onDB(runtime), "", "serve", "--listen", "127.0.0.1:0")
	r.complains(t, exitRefused, "--owner-database-url", "fenceline migrate")
	s := serve(t, append(onDB(runtime), "FENCELINE_OWNER_DATABASE_URL="+db))
	if !s.isReady() {
		t.Error("it is not ready although the owner's address is given")
	}
}

// The listener of another program keeps its port.
func TestAPortOfAnotherProgramIsNamed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	runWith(t, onDB(migrated(t)), "", "serve", "--listen", l.Addr().String()).
		complains(t, exitRefused, "--listen", l.Addr().String(), "another program")
}
