package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// TrendWindow is how far back a [Trend] reaches.
const TrendWindow = time.Hour

// Trend is what happened in each minute of an hour or in each step of another
// stretch of time, the drill left out, told from the counts of the log.
type Trend struct {
	Step        time.Duration // how long a tick is: a minute where nothing else is said
	Ticks       []Tick        // one a step, oldest first; the last one need not be over
	Provisional int64         // transitions past the safe horizon, which were read directly
	Cut         bool          // there were too many of those, and the newest are missing
}

// Counts are how often each of these happened.
type Counts struct {
	Claimed, Completed, Failed, Expired, Refused int64
}

func (c *Counts) add(m Minute) {
	switch m.Type {
	case TypeClaimed:
		c.Claimed += m.N
	case TypeCompleted:
		c.Completed += m.N
	case TypeFailed:
		c.Failed += m.N
	case TypeExpired:
		c.Expired += m.N
	case TypeRejected:
		c.Refused += m.N
	}
}

// Tick is what happened in one step of time, most often a minute.
type Tick struct {
	At time.Time // its beginning
	Counts
}

// HomeQueue is what home tells of a queue.
type HomeQueue struct {
	Queue                 // its Recent holds counts and the series, and no times
	Starts                int64
	StartMean, StartWorst time.Duration // from due to claimed, of the claims of the window
}

// maxHomeQueues is how many queues home shows: those in which most waits.
const maxHomeQueues = 12

func (h *Home) readTrend(ctx context.Context, tx pgx.Tx) error {
	m := Minutes{byQueue: true}
	if err := m.read(ctx, tx, TrendWindow); err != nil {
		return err
	}
	h.Trend = newTrend(m, time.Minute)
	return h.readQueues(ctx, tx, m)
}

func newTrend(m Minutes, step time.Duration) Trend {
	t := Trend{Step: step, Provisional: m.Provisional, Cut: m.Cut}
	for at := m.From; !at.After(m.until); at = at.Add(step) {
		t.Ticks = append(t.Ticks, Tick{At: at})
	}
	for _, r := range m.Rows {
		i := int(r.At.Sub(m.From) / step)
		if r.Queue == DrillQueue || i < 0 || i >= len(t.Ticks) {
			continue
		}
		t.Ticks[i].add(r)
	}
	return t
}

// readQueues reads what waits and runs now, and takes what happened from the
// counts.
func (h *Home) readQueues(ctx context.Context, tx pgx.Tx, m Minutes) error {
	r := queueReading{queues: map[string]*Queue{}, kinds: map[string]*Kind{}}
	for _, part := range []func(context.Context, pgx.Tx) error{r.controls, r.running, r.waiting, r.workers} {
		if err := part(ctx, tx); err != nil {
			return err
		}
	}
	r.count(m, HomeWindow)
	starts := map[string]*HomeQueue{}
	for _, row := range m.Rows {
		if row.Type == TypeClaimed && !row.At.Before(m.Now.Add(-HomeWindow).Truncate(time.Minute)) {
			if starts[row.Queue] == nil {
				starts[row.Queue] = &HomeQueue{}
			}
			s := starts[row.Queue]
			s.Starts, s.StartMean, s.StartWorst = s.Starts+row.Spans, s.StartMean+row.Span, max(s.StartWorst, row.Longest)
		}
	}
	all := r.page()
	h.All, h.MoreQueues, h.Workers = all.All, all.More, all.Workers
	for _, q := range all.Queues {
		if q.Name == DrillQueue {
			continue
		}
		line := HomeQueue{Queue: q}
		if s := starts[q.Name]; s != nil && s.Starts > 0 {
			line.Starts, line.StartMean, line.StartWorst = s.Starts, s.StartMean/time.Duration(s.Starts), s.StartWorst
		}
		h.Queues = append(h.Queues, line)
	}
	h.trim()
	return nil
}

// trim keeps the queues in which most waits, in the order of their names.
func (h *Home) trim() {
	for len(h.Queues) > maxHomeQueues {
		least := 0
		for i, q := range h.Queues {
			if q.Waiting.N+q.Running < h.Queues[least].Waiting.N+h.Queues[least].Running {
				least = i
			}
		}
		h.Queues = append(h.Queues[:least], h.Queues[least+1:]...)
		h.MoreQueues = true
	}
}

// lostWorkersSQL finds workers that went silent without a word.
const lostWorkersSQL = `
select ` + workerColumns + fromWorkers + `
where w.stopped_at is null and w.seen_at < clock_timestamp() - 3 * w.beat and w.seen_at > now() - interval '1 day'
order by w.seen_at desc limit $1`

// maxLostWorkers is how many lost workers home names.
const maxLostWorkers = 10

func (h *Home) readLostWorkers(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, lostWorkersSQL, maxLostWorkers+1)
	if err != nil {
		return err
	}
	h.LostWorkers, err = pgx.CollectRows(rows, scanWorker)
	return err
}
