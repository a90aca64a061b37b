package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/internal/outcome"
)

// Args are what a job of the kind is given.
type Args struct {
	Name  string          `json:"name"`  // of an allowed program
	Input json.RawMessage `json:"input"` // its standard input, digit for digit; nothing means null
}

// UnmarshalJSON refuses fields that it does not know, and args without a name.
func (a *Args) UnmarshalJSON(raw []byte) error {
	type plain Args
	if err := outcome.Strict(raw, (*plain)(a)); err != nil {
		return err
	}
	if a.Name == "" {
		return errors.New("name: is required")
	}
	return nil
}

type runner struct {
	programs map[string]string // name to full path; never changed
	options  Options
}

func (r *runner) handle(ctx context.Context, job worker.Job[Args]) (json.RawMessage, error) {
	path, allowed := r.programs[job.Args.Name]
	if !allowed {
		return nil, worker.Permanent(outcome.Fail("unknown command",
			fmt.Sprintf("args.name: %q is not among the commands that this worker allows", job.Args.Name), nil))
	}
	// The last moment before an outside effect.
	if err := job.Attempt.Check(ctx); err != nil {
		return nil, err
	}
	p := &process{
		path: path, dir: r.options.Dir, stop: r.options.Stop, limit: store.MaxResult,
		env:   append(r.options.Env[:len(r.options.Env):len(r.options.Env)], identity(job)...),
		input: job.Args.Input,
	}
	if len(p.input) == 0 {
		p.input = json.RawMessage("null")
	}
	end := p.run(ctx)
	output := outcome.Tidy(end.stderr)
	job.Attempt.KeepOutput(output)
	return end.outcome(ctx, job.Args.Name, output)
}

// outcome reads how the program ended. Success counts even when the attempt was
// told to stop meanwhile: the work is done, and the store decides whether it
// still may be stored.
func (e *ending) outcome(ctx context.Context, name, output string) (json.RawMessage, error) {
	switch {
	case e.startErr != nil:
		return nil, outcome.Fail("start", fmt.Sprintf("%s could not be started", name), e.startErr)
	case e.overflow:
		return nil, worker.Unstorable(fmt.Errorf("%s: standard output is larger than %d bytes, the limit of a result", name, store.MaxResult))
	case e.success():
		if result := bytes.TrimSpace(e.stdout); len(result) > 0 {
			return result, nil
		}
		return json.RawMessage("null"), nil
	case ctx.Err() != nil:
		return nil, outcome.Fail("stopped", fmt.Sprintf("%s was stopped", name), context.Cause(ctx))
	}
	message := fmt.Sprintf("%s ended with %s", name, e.class())
	if line := outcome.LastLine(output); line != "" {
		message += ": " + line
	}
	err := outcome.Fail(e.class(), message, nil)
	if e.code() == exitDataError {
		return nil, worker.Permanent(err)
	}
	return nil, err
}

// exitDataError is EX_DATAERR of sysexits.h.
const exitDataError = 65
