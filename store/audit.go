package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// AuditEntry is the record of what somebody did, or was refused. It is written
// in the transaction of the change it speaks of: where it cannot be, the change
// does not happen. The role of a running Fenceline can neither change nor remove
// one.
type AuditEntry struct {
	ID       int64
	At       time.Time // the database's clock
	Actor    string
	Action   string
	Outcome  string // "done", or why it was refused
	Reason   string // the actor's words; empty where none are asked for
	JobID    int64  // 0 for what is about no job
	Seen     int64  // the revision that the actor saw; 0 where there is none
	Revision int64  // the one that was there
	Detail   json.RawMessage
}

// AuditFilter says which entries are shown, newest first. Zero fields mean any.
type AuditFilter struct {
	Actor     string // exact, as are Action and Outcome
	Action    string
	Outcome   string
	JobID     int64
	Operation int64     // an [Operation], its jobs included
	From, To  time.Time // at From or later, before To
	After     int64     // entries older than this one; [AuditPage.Next]
	Limit     int       // 1 to [MaxAuditPage]; 0 means 100
}

// MaxAuditPage is the longest page of the audit.
const MaxAuditPage = 5000

// AuditPage is one page of the audit.
type AuditPage struct {
	Entries []AuditEntry
	Next    int64 // pass as After for what follows; 0 at the end
	Looked  int64 // above 0 where the reading stopped after so many entries before the page was full; Next goes on from there
}

const (
	auditLook   = 20000
	auditEffort = 2 * time.Second
)

func (f AuditFilter) check() (AuditFilter, error) {
	for _, n := range []struct {
		field, value string
	}{{"actor", f.Actor}, {"action", f.Action}, {"outcome", f.Outcome}} {
		if err := checkName(n.field, n.value, MaxActor); err != nil {
			return f, err
		}
	}
	switch {
	case f.JobID < 0:
		return f, &InvalidError{"job", "must be a job's id"}
	case f.Operation < 0:
		return f, &InvalidError{"operation", "must be an operation's id"}
	case f.After < 0:
		return f, &InvalidError{"after", "must be a cursor that an earlier answer gave"}
	case f.Limit < 0 || f.Limit > MaxAuditPage:
		return f, &InvalidError{"limit", fmt.Sprintf("must be between 1 and %d", MaxAuditPage)}
	case !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To):
		return f, &InvalidError{"to", "must lie after from"}
	case f.Limit == 0:
		f.Limit = 100
	}
	return f, nil
}

// hit is the condition of the filter on an entry a.
func (f AuditFilter) hit(c *conditions) string {
	hits := []string{"true"}
	for _, exact := range []struct{ column, value string }{{"a.actor", f.Actor}, {"a.action", f.Action}, {"a.outcome", f.Outcome}} {
		if exact.value != "" {
			hits = append(hits, exact.column+" = "+c.arg(exact.value, "text"))
		}
	}
	if f.Operation != 0 {
		hits = append(hits, "coalesce(a.detail ->> 'operation' = "+c.arg(fmt.Sprint(f.Operation), "text")+", false)")
	}
	if !f.From.IsZero() {
		hits = append(hits, "a.at >= "+c.arg(f.From, "timestamptz"))
	}
	if !f.To.IsZero() {
		hits = append(hits, "a.at < "+c.arg(f.To, "timestamptz"))
	}
	return strings.Join(hits, " and ")
}

// Audit reads one page of the audit. Like a list of jobs it looks through a
// bounded number of entries at a time, for two seconds at most, and says so. An
// *[InvalidError] names the field of the filter that cannot be used.
func (s *Store) Audit(ctx context.Context, f AuditFilter) (AuditPage, error) {
	f, err := f.check()
	if err != nil {
		return AuditPage{}, err
	}
	var p AuditPage
	began := time.Now()
	for from := f.After; ; {
		found, last, n, err := s.lookAudit(ctx, f, from, f.Limit+1-len(p.Entries))
		if err != nil {
			return AuditPage{}, fmt.Errorf("read the audit: %w", err)
		}
		p.Entries = append(p.Entries, found...)
		p.Looked += n
		switch {
		case len(p.Entries) > f.Limit:
			p.Entries, p.Looked = p.Entries[:f.Limit], 0
			p.Next = p.Entries[f.Limit-1].ID
			return p, nil
		case n < auditLook:
			p.Looked = 0
			return p, nil
		case time.Since(began) > auditEffort:
			p.Next = last
			return p, nil
		}
		from = last
	}
}

// lookAudit looks at the next entries, n of them down to last, and returns up to
// want that match.
func (s *Store) lookAudit(ctx context.Context, f AuditFilter, from int64, want int) (found []AuditEntry, last, n int64, err error) {
	var c conditions
	where := "true"
	if f.JobID != 0 {
		where = "a.job_id = " + c.arg(f.JobID, "bigint")
	}
	if from > 0 {
		where += " and a.id < " + c.arg(from, "bigint")
	}
	sql := fmt.Sprintf(`
with looked as materialized (
  select a.id, %s as hit from fenceline.audit a where %s order by a.id desc limit %d
), told as (
  select count(*) as n, coalesce(min(l.id), 0) as last from looked l
), page as (
  select l.id from looked l where l.hit order by l.id desc limit %s
)
select t.n, t.last, a.id, a.at, a.actor, a.action, a.outcome, coalesce(a.reason, ''), coalesce(a.job_id, 0), coalesce(a.seen, 0), coalesce(a.revision, 0), coalesce(a.detail, '{}')
from told t
left join (page p join fenceline.audit a on a.id = p.id) on true
order by a.id desc`, f.hit(&c), where, auditLook, c.arg(want, "bigint"))
	err = s.searched(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "set local enable_sort = on"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, c.args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var e AuditEntry
			into := []any{&n, &last, &e.ID, &e.At, &e.Actor, &e.Action, &e.Outcome, &e.Reason, &e.JobID, &e.Seen, &e.Revision, &e.Detail}
			none := rows.RawValues()[2] == nil
			if none {
				clear(into[2:])
			}
			if err := rows.Scan(into...); err != nil {
				return err
			}
			if e.At = e.At.UTC(); !none {
				found = append(found, e)
			}
		}
		return rows.Err()
	})
	return found, last, n, err
}
