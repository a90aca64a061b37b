package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/docs/blocks"
	"github.com/fenceline/fenceline/store/embedded"
)

// reader does what a document says.
type reader struct {
	t       *testing.T
	path    string
	dir     string // where they stand
	data    string // of the private server
	at      blocks.Block
	program []string // the go blocks so far
	tests   []string // and those of them that test it
	console *process // serve
	others  []*process
	address string            // of the console
	ports   map[string]string // other addresses of the document, and those that stand for them
	db      *pgx.Conn
}

func newReader(t *testing.T, path string) *reader {
	t.Helper()
	data := newDir(t)
	r := &reader{t: t, path: path, data: data, ports: map[string]string{}, dir: filepath.Join(filepath.Dir(data), "here")}
	self, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(filepath.Join(r.dir, "bin"), 0o755)
	}
	if err == nil {
		err = os.Symlink(self, filepath.Join(r.dir, "bin", "fenceline"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// environ is the environment of everything that is run.
func (r *reader) environ() []string {
	return append(program(inDir(r.data)).Env, "PATH="+filepath.Join(r.dir, "bin")+":"+os.Getenv("PATH"), "PWD="+r.dir)
}

func (r *reader) fail(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("%s:%d: %s\n%s", r.path, r.at.Line, fmt.Sprintf(format, args...), r.at.Text)
}

var (
	goesOn   = regexp.MustCompile(`^(make run|(bin/)?fenceline (serve|worker))\b`)
	serves   = regexp.MustCompile(`^(make run|(bin/)?fenceline serve)\b`)
	lookedUp = regexp.MustCompile(`^([A-Z_]+=\S+ )*(make|go test)\b`)
	looks    = regexp.MustCompile(`^((bin/)?fenceline (jobs (list|show)|verify|doctor|incidents|version)|curl -s+ http\S+$)`)
)

// run does what one block says, and holds what it prints against what the
// reader is told; empty when they are told nothing.
func (r *reader) run(b blocks.Block, want string) {
	r.t.Helper()
	r.at = b
	switch b.Lang {
	case "go":
		if strings.Contains(b.Text, "func Test") {
			r.tests = append(r.tests, b.Text)
			r.goTest()
			return
		}
		r.program = append(r.program, b.Text)
	case "sql":
		r.compare(want, true, func() string { return r.sql(b.Text) })
	case "sh":
		r.shell(b.Text, want)
	}
}

// shell runs the lines of a block: those that go on on their own, all others
// between them as one script.
func (r *reader) shell(text, want string) {
	r.t.Helper()
	var script []string
	onlyLooks := true
	for _, line := range joined(text) {
		switch {
		case goesOn.MatchString(line):
			r.script(script)
			script = nil
			r.goOn(line)
		case line == "go run .":
			r.goRun(want)
			want = ""
		case lookedUp.MatchString(line):
			r.lookUp(line)
		default:
			onlyLooks = onlyLooks && (looks.MatchString(line) || strings.HasPrefix(line, "#"))
			script = append(script, line)
		}
	}
	if len(script) > 0 {
		r.serving()
		r.compare(want, onlyLooks, func() string { return r.script(script) })
	}
}

// joined are a script's lines; one that ends in a backslash or a pipe, or stands
// within quotes, is one with the next.
func joined(text string) (lines []string) {
	open := ""
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		open += line
		if bare := strings.TrimSpace(line); strings.HasSuffix(bare, "\\") || strings.HasSuffix(bare, "|") || strings.Count(open, "'")%2 == 1 {
			open += "\n"
			continue
		}
		lines, open = append(lines, open), ""
	}
	return lines
}

// script runs lines to their end and returns what they print.
func (r *reader) script(lines []string) string {
	r.t.Helper()
	if len(lines) == 0 {
		return ""
	}
	text := strings.Join(lines, "\n")
	text = r.addressed(text)
	text = regexp.MustCompile(`(fenceline bench .*--jobs )\d+`).ReplaceAllString(text, "${1}500")
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", text)
	cmd.Env, cmd.Dir = r.environ(), r.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		r.fail("%v\nstdout: %s\nstderr: %s", err, out.String(), errs.String())
	}
	return out.String()
}

var local = regexp.MustCompile(`127\.0\.0\.1:[1-9]\d+`)

// addressed replaces the ports that a document names by free ones.
func (r *reader) addressed(text string) string {
	r.t.Helper()
	return local.ReplaceAllStringFunc(text, func(named string) string {
		if named == "127.0.0.1:8080" && r.address != "" {
			return r.address
		}
		if r.ports[named] == "" {
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				r.fail("%v", err)
			}
			r.ports[named] = free.Addr().String()
			free.Close()
		}
		return r.ports[named]
	})
}

// compare runs until what is printed is what the reader is told; a block that
// changes something is run once.
func (r *reader) compare(want string, again bool, run func() string) {
	r.t.Helper()
	got := run()
	for end := time.Now().Add(patience); want != "" && !matches(want, got); got = run() {
		if !again || time.Now().After(end) {
			r.fail("prints\n%s\nwant\n%s", got, want)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// serving sees to it that a console runs, unless the document starts one.
func (r *reader) serving() {
	r.t.Helper()
	if r.console == nil {
		r.goOn("fenceline serve")
	}
}

// goOn starts a line that does not end by itself.
func (r *reader) goOn(line string) {
	r.t.Helper()
	line, _, _ = strings.Cut(line, " #")
	line = strings.Replace(line, "make run", "fenceline serve", 1)
	console := serves.MatchString(line)
	if console {
		r.hangUp()
		r.stop(r.console)
		line += " --listen 127.0.0.1:0"
	}
	line = r.addressed(line)
	cmd := exec.Command("bash", "-ec", "exec "+line)
	cmd.Env, cmd.Dir = r.environ(), r.dir
	p := beginCommand(r.t, cmd)
	if !console {
		r.others = append(r.others, p)
		return
	}
	r.console = p
	eventually(r.t, "the console", func() bool {
		_, url, ready := strings.Cut(p.out.String(), "Fenceline is ready: http://")
		r.address, _, _ = strings.Cut(url, "/")
		return ready && strings.Contains(url, "/")
	})
}

// stop ends a process as its reader would, with ^C.
func (r *reader) stop(p *process) {
	r.t.Helper()
	if p == nil {
		return
	}
	select {
	case <-p.done:
	default:
		p.signal(syscall.SIGINT)
	}
	if code := p.wait(); code != exitOK {
		r.fail("%v ended with %d; stderr: %s", p.cmd.Args, code, p.err)
	}
}

// sql runs statements as the database's owner.
func (r *reader) sql(text string) string {
	r.t.Helper()
	r.serving()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if r.db == nil {
		conn, err := pgx.Connect(ctx, r.ownerURL())
		if err != nil {
			r.fail("%v", err)
		}
		r.db = conn
	}
	if strings.Contains(text, "$1") {
		if _, err := r.db.Prepare(ctx, "", text); err != nil {
			r.fail("%v", err)
		}
		return ""
	}
	results, err := r.db.PgConn().Exec(ctx, text).ReadAll()
	if err != nil {
		r.fail("%v", err)
	}
	var out strings.Builder
	for _, result := range results {
		for _, row := range result.Rows {
			fmt.Fprintf(&out, "%s\n", bytes.Join(row, []byte(" | ")))
		}
	}
	return out.String()
}

// hangUp leaves the database, which ends with the console.
func (r *reader) hangUp() {
	if r.db != nil {
		r.db.Close(context.Background())
		r.db = nil
	}
}

func (r *reader) ownerURL() string {
	r.t.Helper()
	url, err := embedded.Find(r.data)
	if err != nil {
		r.fail("%v", err)
	}
	return url(embedded.Superuser, embedded.Superuser)
}

// leave ends everything in order, after holding the promise against the log.
func (r *reader) leave() {
	r.t.Helper()
	if r.console != nil {
		r.script([]string{"fenceline verify"})
	}
	r.hangUp()
	for _, p := range r.others {
		r.stop(p)
	}
	r.stop(r.console)
}
