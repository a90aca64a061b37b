package browser

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/fenceline/fenceline/views/chrometest"
	"github.com/fenceline/fenceline/worker"
)

// hand is a pool whose handler does what the test says.
type hand struct {
	s         *site
	finish    chan error // what the handler returns next
	cancelled chan error // why a handler's context ended
}

const shortLease = 4 * time.Second

// work runs a pool for one kind until the test ends. Its handler holds each
// job until it is told to finish; losing the lease does not stop it.
func (s *site) work(kind string) *hand {
	s.t.Helper()
	h := &hand{s, make(chan error), make(chan error, 16)}
	p := worker.New(s.store, worker.Config{Name: "app", Lease: shortLease, Log: slog.New(slog.DiscardHandler),
		Poll: 50 * time.Millisecond, Sweep: 50 * time.Millisecond, Grace: time.Millisecond})
	over := make(chan struct{})
	worker.Handle(p, kind, func(ctx context.Context, job worker.Job[json.RawMessage]) (map[string]int64, error) {
		for done := ctx.Done(); ; {
			select {
			case err := <-h.finish:
				return map[string]int64{"generation": job.Attempt.Generation}, err
			case <-done:
				h.cancelled <- context.Cause(ctx)
				done = nil
			case <-over:
				return nil, context.Canceled
			}
		}
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		close(over)
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	})
	return h
}

// returns lets the handler that holds a job return.
func (h *hand) returns(err error) {
	h.s.t.Helper()
	select {
	case h.finish <- err:
	case <-time.After(chrometest.Patience):
		h.s.t.Fatal("no handler holds a job")
	}
}

// loses waits until a handler is told that it lost its job.
func (h *hand) loses() error {
	h.s.t.Helper()
	select {
	case why := <-h.cancelled:
		return why
	case <-time.After(chrometest.Patience):
		h.s.t.Fatal("the handler's context did not end")
		return nil
	}
}
