package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Minute is what the log holds of one minute, queue, kind, type and reason.
type Minute struct {
	At     time.Time // its beginning
	Queue  string
	Kind   string
	Type   Type
	Reason string // one of the protocol's words; empty for what operators did
	N      int64
	// Marked are, of claims, those of a later generation than the first; of
	// renewals, those that came in the last quarter of their lease.
	Marked int64
	// Spans is how many of N the next two are told from: of claims, the time from
	// due to claimed; of ends, the time since the claim.
	Spans         int64
	Span, Longest time.Duration
}

// Minutes are the counts of a stretch of time up to now.
type Minutes struct {
	Now  time.Time // the database's clock
	From time.Time // a full minute
	Rows []Minute  // by time; the same minute, queue, kind, type and reason once
	// Provisional is how many of the counted transitions lie past the safe
	// horizon: some may still be joined by others that are not committed.
	Provisional int64
	Cut         bool          // more than [ProvisionalBound] did, and the newest are not counted
	Behind      time.Duration // since the log was counted up to the horizon; 0 when it never was

	until   time.Time // the last minute
	byQueue bool      // kinds and reasons are counted together
}

// ProvisionalBound is how many transitions that are not rolled up yet are read
// directly.
const ProvisionalBound = 20000

var provisionalSQL = `with ` + fmt.Sprintf(batchSQL, ``) + `, ` + measuredSQL + `
select g.minute, g.queue, g.kind, g.type::text, g.reason, g.n, g.marked, g.spans, g.span_ms, g.span_max_ms, (select count(*) from behind)
from (select) one left join grouped g on g.minute >= $5`

const minutesSQL = `
select r.minute, r.queue, r.kind, r.type::text, r.reason, r.n, r.marked, r.spans, r.span_ms, r.span_max_ms
from fenceline.rollups r
where r.minute between $1 and $2
order by r.minute, r.queue, r.kind, r.type, r.reason`

// minutesByQueueSQL spares the page the kinds and reasons of a busy hour, which are
// many times as many rows.
const minutesByQueueSQL = `
select r.minute, r.queue, '', r.type::text, '', sum(r.n)::bigint, sum(r.marked)::bigint, sum(r.spans)::bigint, sum(r.span_ms)::bigint, max(r.span_max_ms)
from fenceline.rollups r
where r.minute between $1 and $2
group by r.minute, r.queue, r.type
order by r.minute`

// Minutes reads the counts of the time back from now. What was not counted yet
// is read from the log, up to a bound: a transaction that stays open elsewhere
// holds the rollup back and no number.
func (s *Store) Minutes(ctx context.Context, back time.Duration) (Minutes, error) {
	var m Minutes
	err := s.snapshot(ctx, func(ctx context.Context, tx pgx.Tx) error { return m.read(ctx, tx, back) })
	if err != nil {
		return Minutes{}, fmt.Errorf("read the counts of the log: %w", err)
	}
	return m, nil
}

func (m *Minutes) read(ctx context.Context, tx pgx.Tx, back time.Duration) error {
	err := tx.QueryRow(ctx, "select clock_timestamp(), date_trunc('minute', clock_timestamp() - $1::interval, 'UTC')", back).Scan(&m.Now, &m.From)
	if err != nil {
		return err
	}
	m.Now, m.From = m.Now.UTC(), m.From.UTC()
	m.until = m.Now
	return m.readStretch(ctx, tx)
}

// readStretch reads from the first to the last minute.
func (m *Minutes) readStretch(ctx context.Context, tx pgx.Tx) error {
	at, err := rollPosition(ctx, tx)
	if err != nil {
		return err
	}
	if !at.at.IsZero() {
		m.Behind = max(0, m.Now.Sub(at.at))
	}
	known := map[Minute]int{}
	sql := minutesSQL
	if m.byQueue {
		sql = minutesByQueueSQL
	}
	if err := m.gather(ctx, tx, known, sql, m.From, m.until); err != nil {
		return err
	}
	return m.provisional(ctx, tx, known, at)
}

func (m *Minutes) gather(ctx context.Context, tx pgx.Tx, known map[Minute]int, sql string, args ...any) error {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	var r Minute
	var sum, most int64
	_, err = pgx.ForEachRow(rows, []any{&r.At, &r.Queue, &r.Kind, &r.Type, &r.Reason, &r.N, &r.Marked, &r.Spans, &sum, &most}, func() error {
		m.add(known, r, sum, most)
		return nil
	})
	return err
}

func (m *Minutes) provisional(ctx context.Context, tx pgx.Tx, known map[Minute]int, p position) error {
	rows, err := tx.Query(ctx, provisionalSQL, p.xid, p.id, ProvisionalBound+1, p.since, m.From)
	if err != nil {
		return err
	}
	var at *time.Time
	var queue, kind, what, reason *string
	var n, marked, spans, sum, most *int64
	_, err = pgx.ForEachRow(rows, []any{&at, &queue, &kind, &what, &reason, &n, &marked, &spans, &sum, &most, &m.Provisional}, func() error {
		if at != nil && !at.After(m.until) {
			m.add(known, Minute{At: *at, Queue: *queue, Kind: *kind, Type: Type(*what), Reason: *reason, N: *n, Marked: *marked, Spans: *spans}, *sum, *most)
		}
		return nil
	})
	if m.Provisional > ProvisionalBound {
		m.Provisional, m.Cut = ProvisionalBound, true
	}
	return err
}

func (m *Minutes) add(known map[Minute]int, r Minute, sum, most int64) {
	r.At = r.At.UTC()
	if m.byQueue {
		r.Kind, r.Reason = "", ""
	}
	name := Minute{At: r.At, Queue: r.Queue, Kind: r.Kind, Type: r.Type, Reason: r.Reason}
	i, seen := known[name]
	if !seen {
		i = len(m.Rows)
		known[name] = i
		m.Rows = append(m.Rows, name)
	}
	to := &m.Rows[i]
	to.N, to.Marked, to.Spans = to.N+r.N, to.Marked+r.Marked, to.Spans+r.Spans
	to.Span += time.Duration(sum) * time.Millisecond
	to.Longest = max(to.Longest, time.Duration(most)*time.Millisecond)
}
