//go:build unix

package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/command"
)

func TestAProgramGetsItsInputAndItsOutputIsTheResult(t *testing.T) {
	t.Parallel()
	b := start(t, `cat; echo "working" >&2`, command.Options{})
	id := b.enqueue(`{"name": "script", "input": {"n": 12345678901234567890.123456789, "s": "<é>"}}`, 1)
	if r := b.result(id); r != `{"n": 12345678901234567890.123456789, "s": "<é>"}` {
		t.Errorf("result = %s", r)
	}
	if v := b.view(id, store.Completed); len(v.Errors) != 1 || v.Errors[0].Output != "working" || v.Errors[0].Class != "" {
		t.Errorf("kept: %+v", v.Errors)
	}
}

func TestAProgramWithoutInputReadsNullAndWithoutOutputResultsInNull(t *testing.T) {
	t.Parallel()
	b := start(t, `read line; [ "$line" = null ] || exit 1; printf '  \n'`, command.Options{})
	if r := b.result(b.enqueue(`{"name": "script"}`, 1)); r != "null" {
		t.Errorf("result = %s", r)
	}
}

func TestAProgramThatDoesNotReadALargeInputStillSucceeds(t *testing.T) {
	t.Parallel()
	b := start(t, `echo 1`, command.Options{})
	id := b.enqueue(`{"name": "script", "input": "`+strings.Repeat("x", 900_000)+`"}`, 1)
	if r := b.result(id); r != "1" {
		t.Errorf("result = %s", r)
	}
}

func TestAProgramKnowsWhoItWorksForAndNothingSecret(t *testing.T) {
	t.Parallel()
	env := command.Inherit([]string{"PATH=/usr/bin:/bin", "DATABASE_URL=postgres://secret", "LC_ALL=C", "FENCELINE_JOB_ID=7",
		"AWS_SECRET_ACCESS_KEY=x", "TZ=UTC", "PGPASSWORD=x", "=odd", "odd"})
	b := start(t, `env | sort > env; printf '"%s"' "$FENCELINE_ATTEMPT_ID"`, command.Options{Env: env})
	id := b.enqueueAs("a", `{"name": "script"}`, 4)
	job := b.view(id, store.Completed).Job
	if r := b.result(id); r != `"`+job.AttemptID.String()+`"` {
		t.Errorf("result = %s, want attempt %s", r, job.AttemptID)
	}
	got := map[string]string{}
	for _, line := range strings.Split(b.read("env"), "\n") {
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
	}
	for name, value := range map[string]string{
		"FENCELINE_JOB_ID": strconv.FormatInt(id, 10), "FENCELINE_GENERATION": "1", "FENCELINE_KIND": "command",
		"FENCELINE_QUEUE": "default", "FENCELINE_KEY": "a", "FENCELINE_COMMAND": "script", "FENCELINE_ATTEMPT": "1",
		"FENCELINE_MAX_ATTEMPTS": "4", "PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC",
	} {
		if got[name] != value {
			t.Errorf("%s = %q, want %q", name, got[name], value)
		}
		delete(got, name)
	}
	if len(got["FENCELINE_IDEMPOTENCY_KEY"]) != 36 {
		t.Errorf("idempotency key = %q", got["FENCELINE_IDEMPOTENCY_KEY"])
	}
	for _, known := range []string{"FENCELINE_ATTEMPT_ID", "FENCELINE_IDEMPOTENCY_KEY", "PWD", "SHLVL", "_", "OLDPWD"} {
		delete(got, known)
	}
	if len(got) != 0 {
		t.Errorf("also in the environment: %v", got)
	}
}

func TestHowAProgramEndsDecidesWhatBecomesOfTheJob(t *testing.T) {
	t.Parallel()
	b := start(t, `read code; echo "line one" >&2; echo "code $code" >&2; [ "$code" -lt 0 ] && kill $code $$; exit $code`, command.Options{})
	for code, want := range map[int]struct {
		class    string
		attempts int
	}{
		3: {"exit status 3", 2}, 65: {"exit status 65", 1}, -9: {"signal SIGKILL", 2}, -15: {"signal SIGTERM", 2},
	} {
		id := b.enqueue(fmt.Sprintf(`{"name": "script", "input": %d}`, code), 2)
		f := b.failure(id)
		if f.Class != want.class || !strings.HasSuffix(f.Message, fmt.Sprintf("%s: code %d", want.class, code)) ||
			f.Output != fmt.Sprintf("line one\ncode %d", code) {
			t.Errorf("%d: %+v", code, f)
		}
		if job := b.view(id, store.Discarded).Job; job.Attempts != want.attempts {
			t.Errorf("%d: %d attempts, want %d", code, job.Attempts, want.attempts)
		}
	}
}

func TestArgsThatNameNoAllowedProgramArePermanentFailures(t *testing.T) {
	t.Parallel()
	b := start(t, `echo 1`, command.Options{})
	for args, message := range map[string]string{
		`{"name": "other"}`:                  `args.name: "other" is not among the commands`,
		`{"name": "../script"}`:              "is not among the commands",
		`{}`:                                 "name: is required",
		`[]`:                                 "cannot unmarshal array",
		`{"name": "script", "inputs": 1}`:    `unknown field "inputs"`,
		`{"name": ["script"], "input": "x"}`: "name of type string",
	} {
		id := b.enqueue(args, 0)
		f := b.failure(id)
		if !strings.Contains(f.Message, message) {
			t.Errorf("%s: %q, want %q", args, f.Message, message)
		}
		if job := b.view(id, store.Discarded).Job; job.Attempts != 1 {
			t.Errorf("%s: %d attempts", args, job.Attempts)
		}
	}
}

func TestOutputThatIsNoResultIsAPermanentFailureThatSaysWhy(t *testing.T) {
	t.Parallel()
	b := start(t, `read what; case $what in 1) echo "{oops";; 2) yes;; 3) printf '"\\u0000"';; 4) echo 1 2;; esac`, command.Options{})
	for what, message := range map[int]string{
		1: "is not JSON", 2: "standard output is larger than 1048576 bytes", 3: `\u0000`, 4: "is not JSON",
	} {
		id := b.enqueue(fmt.Sprintf(`{"name": "script", "input": %d}`, what), 0)
		f := b.failure(id)
		if f.Class != store.ReasonResultUnstorable || !strings.Contains(f.Message, message) {
			t.Errorf("%d: %+v, want %q", what, f.AttemptError, message)
		}
		v := b.view(id, store.Discarded)
		if last := v.Transitions[len(v.Transitions)-1]; v.Job.Attempts != 1 || last.Reason != store.ReasonResultUnstorable {
			t.Errorf("%d: %d attempts, %s", what, v.Job.Attempts, last.Reason)
		}
	}
}

func TestATerminatedJobsProgramIsStoppedWithItsWholeGroup(t *testing.T) {
	t.Parallel()
	script := `trap 'echo term >> ended' TERM; sleep 300 & echo $! > child; echo $$ > self; while :; do wait; done`
	b := start(t, script, command.Options{Options: worker.Options{Lease: 3 * time.Second}, Stop: 200 * time.Millisecond})
	id := b.enqueue(`{"name": "script"}`, 0)
	storetest.Await(b.t, "the program runs", func() bool { return b.read("self") != "" })
	_, err := b.st.Terminate(t.Context(), store.OperatorParams{JobID: id, Seen: b.view(id, store.Running).Job.Revision, Actor: "test", Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Await(b.t, "the refusal is recorded", func() bool {
		v := b.view(id, store.Terminated)
		return v.Transitions[len(v.Transitions)-1].Op == store.OpFail
	})
	if got := b.read("ended"); !strings.HasPrefix(got, "term") {
		t.Errorf("the program was not asked to end first: %q", got)
	}
	b.gone(b.read("self"), b.read("child"))
}

func TestWhatAProgramLeavesBehindIsKilledAndHoldsNothingUp(t *testing.T) {
	t.Parallel()
	b := start(t, `sleep 300 & echo $! > child; echo '"done"'`, command.Options{})
	id := b.enqueue(`{"name": "script"}`, 0)
	if r := b.result(id); r != `"done"` {
		t.Errorf("result = %s", r)
	}
	b.gone(b.read("child"))
}

func TestAProcessThatLeftTheGroupCannotHoldTheAttemptUp(t *testing.T) {
	t.Parallel()
	b := start(t, `setsid sh -c 'echo $$ > child; sleep 300' & while [ ! -s child ]; do :; done; echo 1`, command.Options{})
	id := b.enqueue(`{"name": "script"}`, 0)
	if r := b.result(id); r != "1" {
		t.Errorf("result = %s", r)
	}
	pid, _ := strconv.Atoi(b.read("child"))
	syscall.Kill(-pid, syscall.SIGKILL)
	b.gone(b.read("child"))
}

func TestAProgramThatOverrunsItsTimeIsStoppedAndTheJobRetried(t *testing.T) {
	t.Parallel()
	b := start(t, `[ -e once ] && { echo 2; exit; }; touch once; echo $$ > self; sleep 300`,
		command.Options{Options: worker.Options{Timeout: 300 * time.Millisecond}})
	id := b.enqueue(`{"name": "script"}`, 0)
	if r := b.result(id); r != "2" {
		t.Errorf("result = %s", r)
	}
	if v := b.view(id, store.Completed); len(v.Errors) != 1 || v.Errors[0].Class != "timeout" {
		t.Errorf("stored: %+v", v.Errors)
	}
	b.gone(b.read("self"))
}

func TestAtShutdownARunningProgramIsStoppedAndTheJobGivenBack(t *testing.T) {
	t.Parallel()
	b := start(t, `echo $$ > self; sleep 300`, command.Options{})
	id := b.enqueue(`{"name": "script"}`, 0)
	storetest.Await(b.t, "the program runs", func() bool { return b.read("self") != "" })
	b.halt()
	b.gone(b.read("self"))
	v := b.view(id, store.Available)
	if last := v.Transitions[len(v.Transitions)-1]; last.Type != store.TypeReleased || v.Job.Attempts != 1 {
		t.Errorf("%s, %d attempts used", last.Type, v.Job.Attempts)
	}
}

func TestProgramsThatCannotBeRunAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for want, programs := range map[string]map[string]string{
		`command "a": stat /no/such`: {"a": "/no/such"},
		"is not a program":           {"a": plain},
		"not a program":              {"a": t.TempDir()},
		"the path is empty":          {"a": ""},
		"the name must have":         {"": "/bin/sh"},
		`command "b\nc": the name`:   {"b\nc": "/bin/sh"},
	} {
		p := worker.New(nil, worker.Config{})
		if err := command.Register(p, programs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Register = %v, want %q", err, want)
		}
	}
	p := worker.New(nil, worker.Config{})
	if err := command.Register(p, nil); err != nil {
		t.Error(err)
	}
	if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no kind") {
		t.Errorf("without programs the kind is handled: %v", err)
	}
}
