package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// repository is its root, seen from this package.
const repository = "../.."

// goRun builds the document's program and runs it until it prints what the
// reader is told, or ends. One that goes on does so until the document ends.
func (r *reader) goRun(want string) {
	r.t.Helper()
	r.serving()
	cmd := exec.Command(r.build("build"))
	cmd.Env, cmd.Dir = append(r.environ(), "DATABASE_URL="+r.ownerURL()), r.dir
	p := beginCommand(r.t, cmd)
	r.others = append(r.others, p)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		ended := false
		select {
		case <-p.done:
			ended = true
		default:
		}
		if got := p.out.String(); want != "" && matches(want, got) || want == "" && (ended || got+p.err.String() != "") {
			return
		}
		if ended || time.Now().After(end) {
			r.fail("the program printed\n%s\nwant\n%s\nstderr: %s", p.out, want, p.err)
		}
	}
}

// goTest runs the tests of the go blocks.
func (r *reader) goTest() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.build("test", "-c", "-vet=off"))
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.fail("%v: %s", err, out)
	}
}

// build compiles the go blocks as files of one program that lies in the module,
// without touching the tree. what is "build", or what compiles
// its tests; vet would look for the files in the tree.
func (r *reader) build(what ...string) string {
	r.t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		r.fail("%v", err)
	}
	name := "docs/program_of_" + strings.TrimSuffix(filepath.Base(r.path), ".md")
	files := map[string]string{}
	for i, text := range slices.Concat(r.program, r.tests) {
		file := filepath.Join(r.dir, fmt.Sprintf("block_%d.go", i))
		if i >= len(r.program) {
			file = strings.TrimSuffix(file, ".go") + "_test.go"
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			r.fail("%v", err)
		}
		files[filepath.Join(root, name, filepath.Base(file))] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": files})
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, "overlay.json"), overlay, 0o644)
	}
	if err != nil {
		r.fail("%v", err)
	}
	binary := filepath.Join(r.dir, "program")
	args := append(what, "-buildvcs=false", "-overlay", filepath.Join(r.dir, "overlay.json"), "-o", binary)
	if raceDetector {
		args = append(args, "-race") // what the tests were built with is built already
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+name)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		r.fail("%v: %s", err, out)
	}
	return binary
}

var (
	target   = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*make ([a-z-]+)`)
	tested   = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*go test .*?(\./[a-z/]+)`)
	selected = regexp.MustCompile(`-run '?([A-Za-z]+)`)
)

// lookUp sees that what a line would run is there.
func (r *reader) lookUp(line string) {
	r.t.Helper()
	if m := target.FindStringSubmatch(line); m != nil {
		cmd := exec.Command("make", "-n", m[1])
		cmd.Dir = repository
		if out, err := cmd.CombinedOutput(); err != nil {
			r.fail("make %s: %v: %s", m[1], err, out)
		}
	}
	if m := tested.FindStringSubmatch(line); m != nil {
		files, _ := filepath.Glob(filepath.Join(repository, m[1], "*_test.go"))
		var all strings.Builder
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				r.fail("%v", err)
			}
			all.Write(text)
		}
		name := ""
		if s := selected.FindStringSubmatch(line); s != nil {
			name = s[1]
		}
		if !regexp.MustCompile(`func Test\w*` + name).MatchString(all.String()) {
			r.fail("%s has no test %q", m[1], name)
		}
	}
}
