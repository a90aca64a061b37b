package boundary

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
)

// senderRole is the environment variable that makes this test binary a sender
// of its own process.
const senderRole = "FENCELINE_TEST_SENDER"

// sender delivers the follow-ups of kind mail to a receiver.
type sender struct {
	Database, Receiver string
	Hang               bool // never returns once the receiver has taken the message
}

// message is what a follow-up carries.
type message struct {
	Body string `json:"body"`
}

// pool is a sender's pool: one slot, so that each message is behind another.
func (s sender) pool(st *store.Store, log *slog.Logger) *worker.Pool {
	p := worker.New(st, worker.Config{
		Queues: map[string]int{"mail": 1}, Lease: time.Hour, Sweep: 20 * time.Millisecond, Poll: 50 * time.Millisecond, Log: log,
		Retry: store.Backoff{Base: time.Hour, Cap: time.Hour},
	})
	worker.Handle(p, "mail", func(ctx context.Context, job worker.Job[message]) (int, error) {
		status, err := s.deliver(ctx, job.IdempotencyKey(), job.Args)
		if err == nil && s.Hang {
			select {} // the moment between the delivery and its record
		}
		return status, err
	})
	return p
}

func (s sender) deliver(ctx context.Context, key string, m message) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Receiver, bytes.NewBufferString(m.Body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the receiver answered %s", res.Status)
	}
	return res.StatusCode, nil
}

// command is the sender as a process of its own.
func (s sender) command() (*exec.Cmd, error) {
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), senderRole+"="+string(encoded))
	return cmd, nil
}

// runSender is that process.
func runSender(encoded string) int {
	var s sender
	err := json.Unmarshal([]byte(encoded), &s)
	if err == nil {
		var st *store.Store
		if st, err = store.Open(context.Background(), store.Config{URL: s.Database, MaxConns: 4}); err == nil {
			err = s.pool(st, slog.New(slog.NewTextHandler(os.Stderr, nil))).Run(context.Background())
		}
	}
	fmt.Fprintln(os.Stderr, "the sender ended:", err)
	return 1
}
