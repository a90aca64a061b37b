//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// appDir, in the environment, makes the test binary the program that owns a
// server, so that a test can kill it.
const appDir = "FENCELINE_EMBEDDED_TEST_APP"

func TestMain(m *testing.M) {
	if dir := os.Getenv(appDir); dir != "" {
		os.Exit(app(dir))
	}
	code := m.Run()
	if template != "" {
		os.RemoveAll(template)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// app starts a server, says its pid, and stops it when its input ends.
func app(dir string) int {
	s, err := Start(context.Background(), quick(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(s.PID())
	io.Copy(io.Discard, os.Stdin)
	if err := s.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// quick spares the disk; what is tested here does not depend on it.
func quick(dir string) Config {
	return Config{DataDir: dir, Settings: map[string]string{"fsync": "off", "shared_buffers": "16MB"}}
}

// running is an app process with its server.
type running struct {
	cmd    *exec.Cmd
	server int // pid
	stdin  io.Closer
}

func runApp(t *testing.T, dir string) *running {
	t.Helper()
	cmd, out, in := appCommand(t, dir)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the app did not start: %v", err)
	}
	r := &running{cmd: cmd, stdin: in}
	if _, err := fmt.Sscan(line, &r.server); err != nil {
		t.Fatal(err)
	}
	return r
}

func appCommand(t *testing.T, dir string) (*exec.Cmd, io.Reader, io.Closer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), appDir+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, out, in
}

// kill ends the app without a chance to say goodbye.
func (r *running) kill() {
	r.cmd.Process.Kill()
	r.cmd.Wait()
}

// home is a directory that the server's user can enter whoever runs the tests.
func home(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fenceline-embedded-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// made is a home with a cluster in it, copied from one made for all tests.
func made(t *testing.T) string {
	t.Helper()
	dir := home(t)
	makeTemplate.Do(func() {
		var err error
		if template, err = os.MkdirTemp("", "fenceline-embedded-"); err != nil {
			return
		}
		if err = os.Chmod(template, 0o755); err != nil {
			return
		}
		var s *Server
		if s, err = Start(context.Background(), quick(template)); err == nil {
			err = s.Stop(context.Background())
		}
		if err != nil {
			t.Error(err)
		}
	})
	if out, err := exec.Command("cp", "-a", layout{template}.data(), dir).CombinedOutput(); err != nil {
		t.Fatalf("copy the cluster: %s", out)
	}
	return dir
}

var (
	makeTemplate sync.Once
	template     string
)

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func mustStart(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := Start(bounded(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustStop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(bounded(t)); err != nil {
		t.Fatal(err)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(bounded(t), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// ask runs one statement on a connection of its own.
func ask(t *testing.T, s *Server, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(bounded(t), s.URL(Superuser, Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, err := conn.Query(bounded(t), sql)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, " ")
}

// remember and remembered tell whether data is kept.
func remember(t *testing.T, s *Server) {
	ask(t, s, `create table if not exists kept as select 'kept'::text as what`)
}

func mustRemember(t *testing.T, s *Server) {
	t.Helper()
	if got := ask(t, s, `select what from kept`); got != "kept" {
		t.Errorf("the data is %q, not what was stored", got)
	}
}

// await polls for a fact.
func await(t *testing.T, what string, fact func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !fact(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}

// contents are the files below dir, to compare.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
