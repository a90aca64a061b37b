package drill

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/fenceline/fenceline/cmd/internal/process"
	"github.com/fenceline/fenceline/store"
)

// Config says how a drill runs.
type Config struct {
	Store   *store.Store
	Program string   // path of the program whose verb [Verb] calls [Work]
	Env     []string // of the two processes; it names the database
	Log     *slog.Logger
	Actor   string // who enqueues

	Lease time.Duration // of both attempts; 0 means 5 s
	Pace  time.Duration // how long a person gets to see each step; 0 means 1 s
	Limit time.Duration // of the whole drill; 0 means 55 s
}

func (c Config) withDefaults() Config {
	if c.Lease == 0 {
		c.Lease = 5 * time.Second
	}
	if c.Pace == 0 {
		c.Pace = time.Second
	}
	if c.Limit == 0 {
		c.Limit = 55 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

var (
	// ErrUnsupported is returned on systems where no process can be stopped and
	// continued.
	ErrUnsupported = process.ErrUnsupported

	// ErrBroken says that the drill ran and did not end as it must: a late result
	// was accepted, not recorded, or stored.
	ErrBroken = errors.New("the drill failed")
)

// Drill is one run of the story. [Begin] makes it.
type Drill struct {
	Job int64 // its id

	cfg     Config
	kind    string
	report  func(Step)
	last    int64 // id of the newest transition read
	waiting []store.Transition
}

// kindPrefix begins the kind of every drill's job.
const kindPrefix = "drill-"

// Begin enqueues the drill's job, which waits until Run starts the workers. Jobs
// that interrupted drills left behind are terminated.
func Begin(ctx context.Context, cfg Config) (*Drill, error) {
	if !process.Supported {
		return nil, ErrUnsupported
	}
	d := &Drill{cfg: cfg.withDefaults(), kind: kindPrefix + strings.ToLower(rand.Text()[:6])}
	d.clean(ctx)
	done, err := d.cfg.Store.Enqueue(ctx, store.Request{
		Kind: d.kind, Queue: store.DrillQueue, MaxAttempts: 2, Actor: cfg.Actor,
		Args: json.RawMessage(`{"report": "quarterly"}`),
	})
	if err != nil {
		return nil, fmt.Errorf("begin the drill: %w", err)
	}
	d.Job = done.ID
	return d, nil
}

// abandonedAfter is how old an unfinished drill's job is that nobody works on
// any more: no drill takes that long.
const abandonedAfter = 2 * time.Minute

// clean terminates what killed drills left: nobody else handles their kinds.
func (d *Drill) clean(ctx context.Context) {
	now, err := d.cfg.Store.Clock(ctx)
	for _, state := range []store.State{store.Available, store.Retryable} {
		var page store.Page
		if err == nil {
			page, err = d.cfg.Store.Jobs(ctx, store.Filter{State: state, Queue: store.DrillQueue, Limit: 100})
		}
		for _, j := range page.Jobs {
			if strings.HasPrefix(j.Kind, kindPrefix) && now.Sub(j.CreatedAt) > abandonedAfter {
				err = errors.Join(err, d.terminate(ctx, j, "left behind by a drill that was interrupted"))
			}
		}
	}
	if err != nil {
		d.cfg.Log.Warn("could not look for jobs that earlier drills left behind", "error", err)
	}
}

func (d *Drill) terminate(ctx context.Context, j store.Job, reason string) error {
	_, err := d.cfg.Store.Terminate(ctx, store.OperatorParams{
		JobID: j.ID, Seen: j.Revision, Actor: "drill", Reason: reason,
	})
	var conflict *store.ConflictError
	if errors.As(err, &conflict) {
		return nil
	}
	return err
}

// abandon ends the job of a drill that did not reach its end. It is done even
// though ctx has ended, but within a moment.
func (d *Drill) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	j, err := d.cfg.Store.Job(ctx, d.Job)
	if err == nil && !j.State.Terminal() {
		err = d.terminate(ctx, j, "the drill was interrupted")
	}
	if err != nil {
		d.cfg.Log.Warn("could not terminate the job of an interrupted drill", "job", d.Job, "error", err)
	}
}
