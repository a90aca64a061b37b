package events

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

// Source is what the hub needs of the database; *[store.Store] is one.
type Source interface {
	// TransitionsOf reads what these transactions recorded about these jobs.
	TransitionsOf(ctx context.Context, xids []uint64, jobs []int64) (store.Batch, error)
	// TransitionsAfter reads what is new behind a cursor for each job.
	TransitionsAfter(ctx context.Context, cursors []store.Cursor, limit int) (store.Batch, error)
	// TransitionsSince reads what transactions from xid on recorded about these jobs.
	TransitionsSince(ctx context.Context, jobs []int64, xid uint64, limit int) (store.Batch, error)
	// Horizon is the transaction number below which everything has ended.
	Horizon(ctx context.Context) (uint64, error)
	// Notify sends a notification in a transaction of its own.
	Notify(ctx context.Context, channel, payload string) error
	// ListenConfig is how a session that can LISTEN connects.
	ListenConfig() *pgx.ConnConfig
}

// Config bounds a hub. The zero value of each field means its default. All
// durations run on this process's monotonic clock; none of them decides
// anything about a lease.
type Config struct {
	Log *slog.Logger // nothing is logged when nil

	ReconnectDelay time.Duration // before a lost listening connection is made anew; 1 s
	PingEvery      time.Duration // how often the listening connection is proven alive; 5 s
	DeadAfter      time.Duration // a silent connection is dropped at most this long after it fell silent; 12 s, never below twice PingEvery
	Reread         time.Duration // how often every watched job is read though nothing was heard; 30 s
	Poll           time.Duration // the same while no connection listens; 1 s
	Debounce       time.Duration // how long notifications are collected before one read; 10 ms

	MaxJobs   int    // jobs that one subscription may watch; 1,000
	MaxBehind int    // transitions that may wait for one reader before it is cut; 2,000
	MaxReplay int    // transitions that a new subscription may have missed; 2,000
	MaxGap    uint64 // transactions that a resume position may be old; 5,000,000
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	orDefault(&c.ReconnectDelay, time.Second)
	orDefault(&c.PingEvery, 5*time.Second)
	orDefault(&c.DeadAfter, 12*time.Second)
	c.DeadAfter = max(c.DeadAfter, 2*c.PingEvery)
	orDefault(&c.Reread, 30*time.Second)
	orDefault(&c.Poll, time.Second)
	orDefault(&c.Debounce, 10*time.Millisecond)
	orDefault(&c.MaxJobs, 1_000)
	orDefault(&c.MaxBehind, 2_000)
	orDefault(&c.MaxReplay, 2_000)
	orDefault(&c.MaxGap, 5_000_000)
	return c
}

func orDefault[T ~int | ~int64 | ~uint64](value *T, def T) {
	if *value <= 0 {
		*value = def
	}
}

const (
	pageRows    = 1_000           // transitions one query may return
	pageCursors = 500             // jobs one query may ask about
	maxHeard    = 5_000           // transactions remembered before a read of every watched job is cheaper
	fewJobs     = 16              // watched jobs up to which asking each one beats asking which
	readTimeout = 5 * time.Second // a query that takes longer is on a dead connection
	replays     = 4               // new subscriptions that may read at once: a crowd that comes back must not empty the pool
)
