package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/search"
)

// idsBehindSQL is what was enqueued behind the position.
const idsBehindSQL = `behind as materialized (
  select t.xid, t.id, t.job_id, t.at, t.type
  from fenceline.enqueued_ids_position p
  cross join lateral (
    select * from fenceline.transitions t where (t.xid, t.id) > (p.xid, p.id) %s order by t.xid, t.id limit %s
  ) t
  where p.only_row
)`

var keepIDsSQL = `with ` + fmt.Sprintf(idsBehindSQL, "and t.xid < pg_snapshot_xmin(pg_current_snapshot())", "$1") + `, kept as (
  insert into fenceline.enqueued_ids as e (minute, least_id, most_id)
  select date_trunc('minute', b.at, 'UTC'), min(b.job_id), max(b.job_id) from behind b where b.type = 'enqueued' group by 1
  on conflict (minute) do update set least_id = least(e.least_id, excluded.least_id), most_id = greatest(e.most_id, excluded.most_id)
), moved as (
  update fenceline.enqueued_ids_position p
  set xid = l.xid, id = l.id
  from (select b.xid, b.id from behind b order by b.xid desc, b.id desc limit 1) l
  where p.only_row
)
select count(*) from behind`

// keepIDs reads the next part of the log for the ids of its jobs, as [Store.Roll]
// counts it, and reports whether there is more.
func keepIDs(ctx context.Context, tx pgx.Tx) (more bool, err error) {
	var n int
	err = tx.QueryRow(ctx, keepIDsSQL, rollMost).Scan(&n)
	return n == rollMost, err
}

// forgetIDsSQL removes the ranges of minutes of which no job is left. One that is
// left in an old minute keeps the later ones: a range says nothing about others.
const forgetIDsSQL = `delete from fenceline.enqueued_ids e using (
  select o.minute from fenceline.enqueued_ids o
  where o.minute < now() - $1::interval and o.most_id < (select min(j.id) from fenceline.jobs j)
  order by o.minute limit $2 for update skip locked) o
  where e.minute = o.minute`

// leastSQL and mostSQL are the least id of what was enqueued at or after a moment
// and the highest of what was enqueued up to one. The minute after that is taken
// too: a search goes on a little later than this, and may count from then.
const (
	leastSQL = `least(
         (select min(e.least_id) from fenceline.enqueued_ids e where e.minute >= date_trunc('minute', greatest(%s), 'UTC')),
         (select min(b.job_id) from behind b where b.type = 'enqueued'))`
	mostSQL = `greatest(
         (select max(e.most_id) from fenceline.enqueued_ids e where e.minute <= least(%s) + interval '1 minute'),
         (select max(b.job_id) from behind b where b.type = 'enqueued'))`
)

// idSpan bounds the ids of the jobs that were enqueued in a stretch of time. A
// bound that was not asked for is 0.
type idSpan struct{ least, most int64 }

// enqueued collects between which moments a search wants jobs to have been
// enqueued, as SQL.
type enqueued struct {
	conditions
	from, to []string
}

func newEnqueued(terms []search.Term) *enqueued {
	e := &enqueued{}
	for _, t := range terms {
		e.term(t)
	}
	return e
}

func (e *enqueued) term(t search.Term) {
	if t.Not || len(t.Values) > 1 && t.Op != search.Between {
		return
	}
	ago := search.Instant{Relative: true, Offset: -t.Values[0].Span}
	switch {
	case t.Field == search.Newer:
		e.bound(search.Least, ago)
	case t.Field == search.Older:
		e.bound(search.Less, ago)
	case t.Field == search.Enqueued && t.Op == search.Between:
		e.bound(search.Least, t.Values[0].At)
		e.bound(search.Most, t.Values[1].At)
	case t.Field == search.Enqueued:
		e.bound(t.Op, t.Values[0].At)
	}
}

// bound takes the whole of what a moment names: that bounds too little at most.
func (e *enqueued) bound(op search.Op, at search.Instant) {
	moment := func(t time.Time) string {
		if at.Relative {
			return "statement_timestamp() + " + e.arg(at.Offset, "interval")
		}
		return e.arg(t, "timestamptz")
	}
	if op == search.Least || op == search.More || op == search.Is {
		e.from = append(e.from, moment(at.From))
	}
	if op == search.Most || op == search.Less || op == search.Is {
		e.to = append(e.to, moment(at.To))
	}
}

// wide reports that the ids of the jobs can be bounded and are not yet.
func (p *listPlan) wide() bool { return !p.narrowed && len(p.enqueued.from)+len(p.enqueued.to) > 0 }

// narrow leaves out of a plan the jobs whose ids lie outside of what was enqueued
// in the time that it asks about. What no step has read of the log yet is read
// here; where that is too much nothing is left out. It is done after a first
// reading that did not end: where there are few jobs it costs nothing.
func (s *Store) narrow(ctx context.Context, p *listPlan) error {
	e := p.enqueued
	p.narrowed = true
	least, most := "0::bigint", "0::bigint"
	if len(e.from) > 0 {
		least = fmt.Sprintf(leastSQL, strings.Join(e.from, ", "))
	}
	if len(e.to) > 0 {
		most = fmt.Sprintf(mostSQL, strings.Join(e.to, ", "))
	}
	bound := e.arg(ProvisionalBound, "bigint")
	sql := "with " + fmt.Sprintf(idsBehindSQL, "", bound) + "\nselect " + least + ", " + most + ", (select count(*) from behind) < " + bound
	var from, to *int64
	var known bool
	err := s.searched(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, e.args...)...).Scan(&from, &to, &known)
	})
	switch {
	case timedOut(ctx, err):
	case err != nil:
		return fmt.Errorf("look for the ids of a time: %w", err)
	case known && (from == nil || to == nil):
		p.nothing = true
	case known:
		p.span = idSpan{*from, *to}
	}
	return nil
}
