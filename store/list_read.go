package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// searchBound is how many jobs one reading looks through for what no index
	// leads to.
	searchBound = 20000
	// effortBound is how many one page looks through at most, however much
	// effort is allowed.
	effortBound = 2000000
	// searchTimeout is how long the server works on one statement of a search.
	searchTimeout = 3 * time.Second
	// promptly is below which the next statement may look at twice as many.
	promptly = 100 * time.Millisecond
)

// searchBegin also keeps the planner to reading indexes in the order of the
// list. Told of few rows, by statistics of an hour ago, it would rather collect
// and sort all there are now.
const searchBegin = "begin read only; " + ownBound + " = %d; " +
	"set local enable_sort = off; set local enable_incremental_sort = off; set local enable_hashagg = off; " +
	"set local enable_hashjoin = off; set local enable_mergejoin = off"

// searched runs a statement under the timeout of searches. When the caller
// goes away, so does the statement.
func (s *Store) searched(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout+answerPatience)
	defer cancel()
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{
		BeginQuery: fmt.Sprintf(searchBegin, searchTimeout.Milliseconds()),
	})
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if err := do(ctx, tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// Jobs reads one page of the list. What it costs does not grow with the number
// of jobs: see [Page]. An *[InvalidError] names the field of the filter that
// cannot be used.
func (s *Store) Jobs(ctx context.Context, f Filter) (Page, error) {
	f, err := s.checked(f)
	if err != nil {
		return Page{}, err
	}
	p := planList(f)
	if p.nothing {
		return Page{Order: f.Order, Prev: f.After}, nil
	}
	from := f.After
	if p.back {
		from = f.Before
	}
	jobs, stopped, bound, err := s.gather(ctx, p, from, f)
	if err != nil {
		return Page{}, fmt.Errorf("list jobs: %w", err)
	}
	return f.page(p, jobs, stopped, bound), nil
}

// gather looks through jobs until the page is full, no more are left, or the
// effort is spent: then it says where it stopped and after how many.
func (s *Store) gather(ctx context.Context, p *listPlan, from Place, f Filter) (jobs []Job, stopped Place, bound int, err error) {
	began, look := time.Now(), p.first()
	for {
		turn := time.Now()
		some, last, err := s.look(ctx, p, from, look, f.Limit+1-len(jobs))
		switch {
		case timedOut(ctx, err) && look > 10 && bound == 0:
			look = look / 20 // a few large ones took all the time
			continue
		case timedOut(ctx, err) && bound > 0:
			return jobs, from, bound, nil
		case err != nil:
			return nil, Place{}, 0, err
		}
		jobs = append(jobs, some...)
		if last.ID == 0 || len(jobs) > f.Limit {
			return jobs, Place{}, 0, nil
		}
		from, bound = last, bound+look
		switch {
		case p.wide():
			if err := s.narrow(ctx, p); err != nil || p.nothing {
				return jobs, Place{}, 0, err
			}
			look = p.look
		case bound >= effortBound || time.Since(began) >= f.Effort:
			return jobs, from, bound, nil
		case time.Since(turn) < promptly:
			look = min(2*look, searchBound)
		}
	}
}

func timedOut(ctx context.Context, err error) bool {
	var refused *pgconn.PgError
	return ctx.Err() == nil && errors.As(err, &refused) && refused.Code == "57014"
}

// look reads up to want of the next matching jobs. Where it looked at as many
// as it may before it had them, last is the last one it looked at.
func (s *Store) look(ctx context.Context, p *listPlan, from Place, look, want int) (jobs []Job, last Place, err error) {
	q := *p
	q.args = slices.Clone(p.args)
	looked := q.looked(from, look)
	sql := fmt.Sprintf(`
with looked as materialized (%s
), page as materialized (
  select l.id, l.at from looked l where l.hit limit %s
), stopped as (
  select l.id, l.at from looked l
  where (select count(*) from page) < %s
  offset %s limit 1
)
select s.id, s.at, %s
from (select) one
left join stopped s on true
left join (page p join fenceline.jobs j on j.id = p.id) on true
order by %s`, looked, q.arg(want, "bigint"), q.arg(want, "bigint"), q.arg(look-1, "bigint"), listColumns, p.order.by("p.", p.order.timed(), "id", p.back))
	err = s.searched(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, q.args...)...)
		if err != nil {
			return err
		}
		jobs, last, err = scanPage(rows)
		return err
	})
	return jobs, last, err
}

// scanPage reads rows that each tell the place, if any, and a job, if any.
func scanPage(rows pgx.Rows) (jobs []Job, last Place, err error) {
	defer rows.Close()
	for rows.Next() {
		var r jobRow
		var id *int64
		var at *time.Time
		fields := append([]any{&id, &at}, r.fields()...)
		none := rows.RawValues()[2] == nil
		if none {
			clear(fields[2:])
		}
		if err := rows.Scan(fields...); err != nil {
			return nil, Place{}, err
		}
		if id != nil {
			last = Place{orZero(at), *id}
		}
		if !none {
			jobs = append(jobs, r.job())
		}
	}
	return jobs, last, rows.Err()
}

// page cuts what was gathered to the page's length and says what comes before
// and after it.
func (f Filter) page(p *listPlan, jobs []Job, stopped Place, bound int) Page {
	out := Page{Order: f.Order, Bound: bound}
	more := len(jobs) > f.Limit
	if more {
		jobs = jobs[:f.Limit]
	}
	further := stopped
	if more {
		further = p.order.place(jobs[len(jobs)-1])
	}
	if p.back {
		slices.Reverse(jobs)
		out.Prev, out.Next = further, f.Before.beside(p.order, false)
	} else {
		out.Next = further
		switch {
		case f.After.ID == 0:
		case len(jobs) > 0:
			out.Prev = p.order.place(jobs[0])
		default:
			out.Prev = f.After.beside(p.order, true)
		}
	}
	out.Jobs = jobs
	return out
}

// timed is what the column of time is called in a page; empty where there is none.
func (o orderSQL) timed() string {
	if o.at == "" {
		return ""
	}
	return "at"
}

// place is where a job stands in the order.
func (o orderSQL) place(j Job) Place {
	switch o.at {
	case "finished_at":
		return Place{j.FinishedAt, j.ID}
	case "run_at":
		return Place{j.RunAt, j.ID}
	}
	return Place{ID: j.ID}
}

// Matching counts the jobs that match, whatever page the filter names, up to
// 10,000. Where it cannot count all without looking far it counts the ones it
// sees in one reading, and says that there may be more.
func (s *Store) Matching(ctx context.Context, f Filter) (Count, error) {
	f, err := s.checked(f)
	if err != nil {
		return Count{}, err
	}
	f.After, f.Before = Place{}, Place{}
	p := planList(f)
	if p.nothing {
		return Count{}, nil
	}
	look := p.first()
	if p.hit == "" {
		look = countBound + 1
	}
	all, hits, err := s.count(ctx, p, look)
	if err == nil && all == look && p.wide() {
		if err = s.narrow(ctx, p); err == nil && !p.nothing {
			look = p.look
			all, hits, err = s.count(ctx, p, look)
		}
	}
	switch {
	case err != nil:
		return Count{}, fmt.Errorf("count jobs: %w", err)
	case hits > countBound:
		return Count{N: countBound, Capped: true}, nil
	}
	return Count{N: int64(hits), Capped: all == look && !p.nothing}, nil
}

// count looks at the first jobs of a plan and tells how many there were and how
// many of them match.
func (s *Store) count(ctx context.Context, p *listPlan, look int) (all, hits int, err error) {
	q := *p
	q.args = slices.Clone(p.args)
	looked := q.looked(Place{}, look)
	err = s.searched(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, "select count(*), count(*) filter (where hit) from ("+looked+") l",
			append([]any{pgx.QueryExecModeCacheDescribe}, q.args...)...).Scan(&all, &hits)
	})
	return all, hits, err
}
