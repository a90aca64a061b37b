package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fenceline/fenceline/store"
)

// RoleVariable is the environment variable that makes this program one of a
// rig's processes. Its value goes to [Play].
const RoleVariable = "FENCELINE_FAULTS_ROLE"

// role is what a process does.
type role struct {
	Play  string
	Name  string
	URL   string
	Seed  uint64
	Lease time.Duration
	Pace  time.Duration // producers: the pause between two requests
}

// The roles.
const (
	playWorker   = "worker"
	playProducer = "producer"
	playOperator = "operator"
	playAbsentee = "absentee"
	playMigrator = "migrator"
)

// Where the jobs of a rig wait.
const (
	queueWork   = store.DefaultQueue
	queueAbsent = "absent"
	queueCut    = "cut"
)

// budget is more than any number of faults can spend: a job that is discarded
// was lost.
const budget = 100_000

// actor is a process in its role.
type actor struct {
	role
	store  *store.Store
	rand   *rand.Rand
	orders <-chan string
}

// Play plays a role until standard input ends or SIGTERM comes, and returns
// the exit status.
func Play(encoded string) int {
	var r role
	if err := json.Unmarshal([]byte(encoded), &r); err != nil {
		return failed(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	orders := make(chan string)
	go listen(os.Stdin, orders, stop)
	if err := r.play(ctx, orders); err != nil && ctx.Err() == nil {
		return failed(err)
	}
	return 0
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// listen passes orders on. The end of in is the end of the rig.
func listen(in io.Reader, orders chan<- string, end func()) {
	defer end()
	defer close(orders)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		orders <- lines.Text()
	}
}

func (r role) play(ctx context.Context, orders <-chan string) error {
	if r.Play == playMigrator {
		return r.migrate(ctx)
	}
	st, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	a := &actor{role: r, store: st, rand: rand.New(rand.NewPCG(r.Seed, 1)), orders: orders}
	switch r.Play {
	case playWorker:
		return a.work(ctx)
	case playProducer:
		return a.produce(ctx)
	case playOperator:
		return a.operate(ctx)
	case playAbsentee:
		return a.absent(ctx)
	}
	return fmt.Errorf("no such role: %s", r.Play)
}

// open waits for a database that is down. Only a schema that does not fit ends
// the wait.
func (r role) open(ctx context.Context) (*store.Store, error) {
	for {
		once, cancel := context.WithTimeout(ctx, 15*time.Second)
		st, err := store.Open(once, store.Config{URL: r.URL, MaxConns: 4, RenewalConns: 1,
			StatementTimeout: 5 * time.Second, LockTimeout: 2 * time.Second, IdleInTransaction: r.Lease / 2})
		cancel()
		if err == nil || errors.Is(err, store.ErrSchema) {
			return st, err
		}
		slog.Warn("open", "error", err)
		if !rest(ctx, 100*time.Millisecond) {
			return nil, err
		}
	}
}

// call makes one call to the store with a bound of its own: a half-open
// connection gives no answer at all.
func call[T any](ctx context.Context, fn func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return fn(ctx)
}

// insist repeats a call until it is answered: with a value, or with an error
// that final accepts as an answer. It reports whether an earlier answer was
// missing, and how often it was sent.
func insist[T any](ctx context.Context, final func(error) bool, fn func(context.Context) (T, error)) (out T, sent int, err error) {
	for {
		sent++
		out, err = call(ctx, fn)
		if err == nil || final(err) || ctx.Err() != nil {
			return out, sent, err
		}
		if !rest(ctx, 50*time.Millisecond) {
			return out, sent, ctx.Err()
		}
	}
}

func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// until returns a context that ends when the rig says finish, or ends.
func (a *actor) until(ctx context.Context) (context.Context, context.CancelFunc) {
	busy, done := context.WithCancel(ctx)
	go func() {
		for order := range a.orders {
			if order == orderFinish {
				break
			}
		}
		done()
		for range a.orders {
		}
	}()
	return busy, done
}

// orderFinish ends producers, operators and absentees once what they have begun
// is answered.
const orderFinish = "finish"
