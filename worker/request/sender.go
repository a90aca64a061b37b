package request

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/internal/outcome"
)

type sender struct {
	targets map[string]*target // never changed
}

// errSlow is the end of a request's own time.
var errSlow = errors.New("the target took too long")

func (s *sender) handle(ctx context.Context, job worker.Job[Args]) (*Result, error) {
	t, allowed := s.targets[job.Args.Target]
	if !allowed {
		return nil, worker.Permanent(outcome.Fail("unknown target",
			fmt.Sprintf("args.target: %q is not among the targets that this worker allows", job.Args.Target), nil))
	}
	limited, stop := context.WithTimeoutCause(ctx, t.timeout, errSlow)
	defer stop()
	r, err := t.request(limited, job)
	if err != nil {
		return nil, worker.Permanent(outcome.Fail("args", err.Error(), nil))
	}
	// The last moment before an outside effect.
	if err := job.Attempt.Check(ctx); err != nil {
		return nil, err
	}
	// Not a client: it would follow redirects, and put the address into errors.
	answer, err := t.transport.RoundTrip(r)
	if err != nil {
		return nil, t.unanswered(ctx, limited, job.Args.Target, err)
	}
	defer answer.Body.Close()
	got := t.read(answer)
	if got.err != nil && succeeded(answer.StatusCode) {
		return nil, t.unanswered(ctx, limited, job.Args.Target, got.err)
	}
	if succeeded(answer.StatusCode) {
		return got.result(), nil
	}
	job.Attempt.KeepOutput(got.output())
	return nil, refusal(job.Args.Target, answer, time.Now())
}

func (t *target) request(ctx context.Context, job worker.Job[Args]) (*http.Request, error) {
	body, err := t.body(job.Args)
	if err != nil {
		return nil, err
	}
	at, err := t.place(job.Args.Path)
	if err != nil {
		return nil, errors.New("args.path: cannot be read")
	}
	r := (&http.Request{Method: job.Args.Method, URL: at, Host: at.Host, Header: t.headers.Clone()}).WithContext(ctx)
	h, key := r.Header, job.IdempotencyKey()
	if len(body) > 0 {
		h.Set("Content-Type", "application/json")
		r.ContentLength = int64(len(body))
		// With it the transport may use another connection when an idle one turns
		// out to be closed before anything was sent.
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Body, _ = r.GetBody()
	}
	h.Set("User-Agent", "Fenceline")
	h.Set("Idempotency-Key", key)
	h.Set("Fenceline-Job", strconv.FormatInt(job.ID, 10))
	h.Set("Fenceline-Attempt", job.Attempt.ID.String())
	h.Set("Fenceline-Generation", strconv.FormatInt(job.Attempt.Generation, 10))
	if len(t.key) > 0 {
		sign(h, t.key, key, time.Now(), body)
	}
	return r, nil
}
