package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// sampleLock lets one process at a time write down what stands in the queues.
const sampleLock = "hashtextextended('fenceline.queue_minutes', 0)"

// SampleQueues writes down what waits and runs in each queue, once a minute; any
// process may call it as often as it likes. It reports whether it did. The drill
// is left out, and so are queues in which nothing waits or runs.
func (s *Store) SampleQueues(ctx context.Context) (did bool, err error) {
	const minute = "date_trunc('minute', clock_timestamp(), 'UTC')"
	var known bool
	err = s.pool.QueryRow(ctx, "select exists (select from fenceline.queue_minutes q where q.minute = "+minute+" and q.queue = '')").Scan(&known)
	if err == nil && !known {
		did, err = inTx(ctx, s.pool, func(tx pgx.Tx) (bool, error) {
			var mine bool
			if err := tx.QueryRow(ctx, "select pg_try_advisory_xact_lock("+sampleLock+")").Scan(&mine); err != nil || !mine {
				return false, err
			}
			var of, at time.Time
			err := tx.QueryRow(ctx, `insert into fenceline.queue_minutes (minute, at, waiting, running, capped, queue)
				select `+minute+`, clock_timestamp(), 0, 0, false, '' on conflict do nothing returning minute, at`).Scan(&of, &at)
			if errors.Is(err, pgx.ErrNoRows) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			return true, sampleQueues(ctx, tx, of, at)
		})
	}
	if err != nil {
		return false, fmt.Errorf("write down what stands in the queues: %w", err)
	}
	return did, nil
}

func sampleQueues(ctx context.Context, tx pgx.Tx, minute, at time.Time) error {
	r := queueReading{queues: map[string]*Queue{}, kinds: map[string]*Kind{}}
	for _, part := range []func(context.Context, pgx.Tx) error{r.running, r.waiting} {
		if err := part(ctx, tx); err != nil {
			return err
		}
	}
	var names []string
	var waiting, running, oldest []int64 // of the last, milliseconds; -1 where none waits
	var capped []bool
	for name, q := range r.queues {
		if name == DrillQueue || q.Waiting.N+q.Running == 0 {
			continue
		}
		names, waiting, running = append(names, name), append(waiting, q.Waiting.N), append(running, q.Running)
		age := int64(-1)
		if !q.Oldest.IsZero() {
			age = max(0, at.Sub(q.Oldest).Milliseconds())
		}
		oldest, capped = append(oldest, age), append(capped, q.Waiting.Capped)
	}
	_, err := tx.Exec(ctx, `insert into fenceline.queue_minutes (minute, at, waiting, running, oldest_ms, capped, queue)
		select $1, clock_timestamp(), q.waiting, q.running, nullif(q.oldest, -1), q.capped, q.name
		from unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[]) q (name, waiting, running, oldest, capped)
		on conflict do nothing`, minute, names, waiting, running, oldest, capped)
	return err
}

// Past is what the queues looked like in one minute, as far as it is kept. The
// drill is left out.
type Past struct {
	Now       time.Time // the database's clock
	At        time.Time // the beginning of the minute
	Sampled   time.Time // when what stood in the queues was read; zero when nobody did in that minute
	Queues    []PastQueue
	More      bool       // there were others, in which less stood and happened
	Jobs      PastJobs   // in which what happened within the minute happened
	Trend     Trend      // of the hour that ends with the minute
	Incidents []Incident // that were open at the end of the minute, as they are now; at most 200
	// Kept is the oldest minute of which counts are kept: before, nothing had
	// happened or it has been removed. Zero when none are.
	Kept time.Time
}

// PastJobs are how many jobs a search finds now by what happened to them in one
// minute, each once. Events tell of more: of what happened to a job twice, and to
// jobs that are gone or have been started again.
type PastJobs struct {
	Completed Count // then, and not started again
	Expired   Count // lost a lease then
	Refused   Count // had a late write refused then
}

// PastQueue is a queue in one minute: what stood in it when it was read, and what
// happened within the minute.
type PastQueue struct {
	Name             string
	Waiting          Count
	Running          int64
	Oldest           time.Duration // for how long the job had been due that was due longest; 0 where none waited
	Known            bool          // whether what stood in it was read
	Tick                           // what happened; At is the minute
	Starts           int64         // of its claims, those of which it is known how long they came after their jobs were due
	StartMean, Worst time.Duration
}

// Gone reports that the minute is older than any count.
func (p Past) Gone() bool { return p.Kept.IsZero() || p.At.Before(p.Kept) }

// Past reads what the queues looked like in the minute of a time, on the
// database's clock. *[InvalidError] for a time that lies ahead.
func (s *Store) Past(ctx context.Context, at time.Time) (p Past, err error) {
	p.At = at.UTC().Truncate(time.Minute)
	err = s.snapshot(ctx, p.readClock, p.readCounts, p.readJobs, p.readSample, p.readIncidents)
	if err != nil {
		return Past{}, fmt.Errorf("read what was at %s: %w", p.At.Format(time.RFC3339), err)
	}
	p.trim()
	return p, nil
}

func (p *Past) readClock(ctx context.Context, tx pgx.Tx) error {
	var kept *time.Time
	err := tx.QueryRow(ctx, "select clock_timestamp(), (select r.minute from fenceline.rollups r order by r.minute limit 1)").Scan(&p.Now, &kept)
	p.Now, p.Kept = p.Now.UTC(), orZero(kept)
	if err == nil && p.At.After(p.Now) {
		return &InvalidError{"at", "must not lie ahead: it is " + p.Now.Format("2006-01-02T15:04Z") + " by the database's clock"}
	}
	return err
}

// readCounts takes the minute and the hour before it from the counts of the log,
// and from the log where it is not counted yet.
func (p *Past) readCounts(ctx context.Context, tx pgx.Tx) error {
	m := Minutes{Now: p.Now, From: p.At.Add(time.Minute - TrendWindow), until: p.At}
	if err := m.readStretch(ctx, tx); err != nil {
		return err
	}
	p.Trend = newTrend(m, time.Minute)
	for _, r := range m.Rows {
		if p.Kept.IsZero() || r.At.Before(p.Kept) { // nothing is counted yet
			p.Kept = r.At
		}
		if r.Queue == DrillQueue || !r.At.Equal(p.At) {
			continue
		}
		q := p.queue(r.Queue)
		q.add(r)
		if r.Type == TypeClaimed {
			q.Starts, q.StartMean, q.Worst = q.Starts+r.Spans, q.StartMean+r.Span, max(q.Worst, r.Longest)
		}
	}
	for i := range p.Queues {
		if q := &p.Queues[i]; q.Starts > 0 {
			q.StartMean /= time.Duration(q.Starts)
		}
	}
	return nil
}

const pastJobsSQL = `
select (select count(*) from (
          select from fenceline.jobs j
          where j.state = 'completed' and j.finished_at >= $1::timestamptz and j.finished_at < $1::timestamptz + interval '1 minute' and j.queue <> $2 limit $3) c),
       (select count(*) from (
          select distinct j.id from fenceline.transitions t join fenceline.jobs j on j.id = t.job_id
          where t.type = 'expired' and t.at >= $1::timestamptz and t.at < $1::timestamptz + interval '1 minute' and j.queue <> $2 limit $3) e),
       (select count(*) from (
          select distinct j.id from fenceline.transitions t join fenceline.jobs j on j.id = t.job_id
          where t.type = 'rejected' and t.at >= $1::timestamptz and t.at < $1::timestamptz + interval '1 minute' and j.queue <> $2 limit $3) r)`

func (p *Past) readJobs(ctx context.Context, tx pgx.Tx) error {
	var completed, expired, refused int64
	err := tx.QueryRow(ctx, pastJobsSQL, p.At, DrillQueue, countBound+1).Scan(&completed, &expired, &refused)
	p.Jobs = PastJobs{capped(completed), capped(expired), capped(refused)}
	return err
}

func (p *Past) queue(name string) *PastQueue {
	i := slices.IndexFunc(p.Queues, func(q PastQueue) bool { return q.Name == name })
	if i < 0 {
		i = len(p.Queues)
		p.Queues = append(p.Queues, PastQueue{Name: name, Tick: Tick{At: p.At}})
	}
	return &p.Queues[i]
}

func (p *Past) readSample(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `select q.queue, q.at, q.waiting, q.running, coalesce(q.oldest_ms, 0), q.capped
		from fenceline.queue_minutes q where q.minute = $1 order by q.queue`, p.At)
	if err != nil {
		return err
	}
	var name string
	var at time.Time
	var waiting, running, oldest int64
	var capped bool
	_, err = pgx.ForEachRow(rows, []any{&name, &at, &waiting, &running, &oldest, &capped}, func() error {
		if name == "" {
			p.Sampled = at.UTC()
			return nil
		}
		q := p.queue(name)
		q.Waiting, q.Running, q.Oldest = Count{N: waiting, Capped: capped}, running, time.Duration(oldest)*time.Millisecond
		return nil
	})
	for i := range p.Queues {
		p.Queues[i].Known = !p.Sampled.IsZero()
	}
	return err
}

// Whether an incident was open is what its entries say: those resolved since may
// have been opened and closed in between.
const pastIncidentsSQL = `
select ` + incidentColumns + ` from (
  select * from fenceline.incidents o where o.state <> 'resolved'
  union all
  select * from fenceline.incidents r where r.state = 'resolved' and r.resolved_at >= $1
) i
where i.opened_at < $1
  and (select e.action from fenceline.incident_entries e
       where e.incident_id = i.id and e.at < $1 and e.action in ('opened', 'reopened', 'resolve', 'quiet', 'merge')
       order by e.id desc limit 1) in ('opened', 'reopened')
order by case i.severity when 'high' then 0 when 'medium' then 1 else 2 end, i.opened_at desc, i.id limit $2`

func (p *Past) readIncidents(ctx context.Context, tx pgx.Tx) (err error) {
	p.Incidents, err = readIncidents(ctx, tx, pastIncidentsSQL, p.At.Add(time.Minute), maxActive)
	return err
}

// maxPastQueues is how many queues a [Past] shows.
const maxPastQueues = 100

// trim keeps the queues in which most stood and happened, by name.
func (p *Past) trim() {
	weight := func(q PastQueue) int64 {
		return q.Waiting.N + q.Running + q.Claimed + q.Completed + q.Failed + q.Expired + q.Refused
	}
	slices.SortFunc(p.Queues, func(a, b PastQueue) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a.Name, b.Name))
	})
	if len(p.Queues) > maxPastQueues {
		p.Queues, p.More = p.Queues[:maxPastQueues], true
	}
	slices.SortFunc(p.Queues, func(a, b PastQueue) int { return cmp.Compare(a.Name, b.Name) })
}

// ParseMinute reads a time as a person writes it, in UTC where no zone is given:
// 2026-01-31T03:12, a time of RFC 3339, or 03:12 for the last such minute before
// now.
func ParseMinute(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01-02 15:04", time.RFC3339} {
		at, err := time.Parse(layout, text)
		if err == nil && at.Year() >= 1900 && at.Year() < 9999 {
			return at.UTC(), nil
		}
	}
	if at, err := time.Parse("15:04", text); err == nil {
		now = now.UTC()
		last := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
		if last.After(now) {
			last = last.AddDate(0, 0, -1)
		}
		return last, nil
	}
	return time.Time{}, &InvalidError{"at", "must be a minute in UTC such as 2026-01-31T03:12, or 03:12 for the last one"}
}
