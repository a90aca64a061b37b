package drill

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
)

// Verb is the program's hidden verb that calls [Work].
const Verb = "drill-worker"

// finishWord on standard input tells a worker that its work is done.
const finishWord = "finish"

// Result is what a worker offers.
type Result struct {
	By         string `json:"by"` // A or B
	Generation int64  `json:"generation"`
	Report     string `json:"report"`
}

// Work is one of the two processes: a pool that works one job of the kind and
// ends. The work is done when the word comes on in, whatever has become of the
// lease meanwhile; the process that was paused knows no better. It also ends
// when in does, with the process that holds the other side, and after limit.
func Work(ctx context.Context, st *store.Store, name, kind string, lease, limit time.Duration, in io.Reader, log *slog.Logger) error {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	finish, gone := make(chan struct{}), make(chan struct{})
	go listen(in, finish, gone)
	go func() {
		select {
		case <-gone:
			stop()
		case <-ctx.Done():
		}
	}()
	pool := worker.New(st, worker.Config{
		Queues: map[string]int{store.DrillQueue: 1}, Name: "drill-" + name, Lease: lease, Log: log,
		Poll: 200 * time.Millisecond, Sweep: 200 * time.Millisecond, Grace: time.Second, Wind: 2 * time.Second,
	})
	worker.Handle(pool, kind, func(_ context.Context, job worker.Job[json.RawMessage]) (Result, error) {
		defer stop()
		select {
		case <-finish:
			return Result{By: name, Generation: job.Attempt.Generation, Report: "written by worker " + name}, nil
		case <-gone:
			return Result{}, errors.New("the drill was interrupted")
		}
	})
	return pool.Run(ctx)
}

// listen waits for the word, then for the end.
func listen(in io.Reader, finish, gone chan<- struct{}) {
	defer close(gone)
	lines := bufio.NewScanner(in)
	for told := false; lines.Scan(); {
		if !told && strings.TrimSpace(lines.Text()) == finishWord {
			told = true
			close(finish)
		}
	}
}
