package store

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Filter says which jobs a list shows. Empty fields mean any.
type Filter struct {
	State State
	Kind  string
	Queue string
	Key   string // exact

	Before int64 // ids below this, newest first; 0 starts at the newest
	After  int64 // ids above this instead: the page before
	Limit  int   // 1 to [MaxPage]; 0 means 50
}

// MaxPage is the longest page of a list.
const MaxPage = 500

// searchBound is how many jobs one reading looks through for a kind, queue or
// key that no index leads to.
const searchBound = 20000

// Page is one page of a list, newest first. A job is on one page only, however
// many arrive meanwhile: pages are cut by id, not by number.
type Page struct {
	Jobs  []Job // ArgsBytes and ResultBytes are sizes as stored
	Next  int64 // pass as Before for older jobs; 0 at the end
	Prev  int64 // pass as After for newer jobs; 0 on the first page
	Bound int   // above 0 when the reading stopped after so many jobs before the page was full; Next goes on from there
}

func (f Filter) check() (Filter, error) {
	if f.State != "" && !f.State.Valid() {
		return f, &InvalidError{"state", "is not a state; the states are scheduled, available, running, retryable, completed, discarded and terminated"}
	}
	for _, n := range []struct {
		field, value string
		limit        int
	}{{"kind", f.Kind, MaxKind}, {"queue", f.Queue, MaxQueue}, {"key", f.Key, MaxKey}} {
		if err := checkName(n.field, n.value, n.limit); err != nil {
			return f, err
		}
	}
	switch {
	case f.Before < 0:
		return f, &InvalidError{"before", "must not be negative"}
	case f.After < 0:
		return f, &InvalidError{"after", "must not be negative"}
	case f.Before > 0 && f.After > 0:
		return f, &InvalidError{"after", "cannot be given together with before"}
	case f.Limit < 0 || f.Limit > MaxPage:
		return f, &InvalidError{"limit", fmt.Sprintf("must be between 1 and %d", MaxPage)}
	case f.Limit == 0:
		f.Limit = 50
	}
	return f, nil
}

// searchedSQL selects the jobs that one reading looks through: at most $3 of
// them, from an index, in the order of their ids. $1 is the state, $2 the edge.
func searchedSQL(f Filter) string {
	state, edge, order := "$1::text = ''", "$2::bigint = 0", "desc"
	if f.State != "" {
		state = "j.state = $1::text::fenceline.job_state"
	}
	switch {
	case f.After > 0:
		edge, order = "j.id > $2", "asc"
	case f.Before > 0:
		edge = "j.id < $2"
	}
	return fmt.Sprintf(`
  select j.id, j.kind, j.queue, j.key from fenceline.jobs j
  where %s and %s
  order by j.id %s
  limit $3`, state, edge, order)
}

// listSQL reads the matching ones as they are found, so that a page that fills
// early reads little. With kind and key the index on them leads to the job.
func listSQL(f Filter) string {
	searched, order := searchedSQL(f), "desc"
	if f.After > 0 {
		order = "asc"
	}
	if f.indexed() {
		searched = `select j.id, j.kind, j.queue, j.key from fenceline.jobs j
  where j.kind = $4 and j.key = $6 and ($1::text = '' or j.state::text = $1) and $2::bigint = 0 and $3::bigint > 0`
	}
	return fmt.Sprintf(`
with searched as materialized (%s
), matching as materialized (
  select s.id from searched s
  where ($4 = '' or s.kind = $4) and ($5 = '' or s.queue = $5) and ($6 = '' or s.key = $6)
  limit $7
)
select %s from matching m join fenceline.jobs j on j.id = m.id
order by j.id %s`, searched, listColumns, order)
}

// indexed reports that one index leads to the only job that can match.
func (f Filter) indexed() bool {
	return f.Kind != "" && f.Key != "" && f.Before == 0 && f.After == 0
}

// Jobs reads one page of the list. What it costs does not grow with the number
// of jobs: see [Page]. An *[InvalidError] names the field of the filter that
// cannot be used.
func (s *Store) Jobs(ctx context.Context, f Filter) (Page, error) {
	f, err := f.check()
	if err != nil {
		return Page{}, err
	}
	edge := max(f.Before, f.After)
	rows, err := s.pool.Query(ctx, listSQL(f), string(f.State), edge, searchBound, f.Kind, f.Queue, f.Key, f.Limit+1)
	if err != nil {
		return Page{}, fmt.Errorf("list jobs: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, scanJob)
	if err != nil {
		return Page{}, fmt.Errorf("list jobs: %w", err)
	}
	more := len(jobs) > f.Limit
	if more {
		jobs = jobs[:f.Limit]
	}
	p := Page{Jobs: jobs}
	if !more {
		if p.Bound, edge, err = s.reached(ctx, f); err != nil {
			return Page{}, err
		}
	} else {
		edge = jobs[len(jobs)-1].ID
	}
	if f.After > 0 {
		slices.Reverse(p.Jobs)
		if more || p.Bound > 0 {
			p.Prev = edge
		}
		p.Next = f.After
		if p.Next < math.MaxInt64 {
			p.Next++
		}
		return p, nil
	}
	if more || p.Bound > 0 {
		p.Next = edge
	}
	if f.Before > 0 && len(p.Jobs) > 0 {
		p.Prev = p.Jobs[0].ID
	} else if f.Before > 0 {
		p.Prev = f.Before - 1
	}
	return p, nil
}

// reached tells whether a page that did not fill was cut short by the bound,
// and at which id.
func (s *Store) reached(ctx context.Context, f Filter) (bound int, edge int64, err error) {
	if f.Kind == "" && f.Queue == "" && f.Key == "" || f.indexed() {
		return 0, 0, nil
	}
	furthest := "min"
	if f.After > 0 {
		furthest = "max"
	}
	sql := fmt.Sprintf(`select count(*), coalesce(%s(s.id), 0) from (%s) s`, furthest, searchedSQL(f))
	err = s.pool.QueryRow(ctx, sql, string(f.State), max(f.Before, f.After), searchBound).Scan(&bound, &edge)
	if err != nil {
		return 0, 0, fmt.Errorf("list jobs: %w", err)
	}
	if bound < searchBound {
		return 0, 0, nil
	}
	return bound, edge, nil
}
