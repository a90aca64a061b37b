package faults

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

// verdict is what a rig's run came to. The counts of what must not be are zero
// when all is well.
type verdict struct {
	Acknowledged int `json:"acknowledged"` // enqueued jobs and operators' actions
	Lost         int `json:"lost"`         // of them
	Results      int `json:"results"`
	Doubled      int `json:"doubled"` // results, follow-ups or keys
	Writes       int `json:"writes"`  // accepted writes of attempts
	Stale        int `json:"stale"`   // of them without authority
	Invariants   int `json:"invariants_broken"`

	Refused int `json:"refused"` // refused writes on record, on purpose and by the faults
	Repeats int `json:"outside_effects_repeated"`
	Unsure  int `json:"answers_missing"` // of processes: asked again and answered

	StaleMade     int `json:"stale_made"` // on purpose
	StaleRefused  int `json:"stale_refused"`
	StaleRecorded int `json:"stale_recorded"`

	Cuts      map[string]int `json:"cuts"`
	CutsTotal int            `json:"cuts_total"`
	CutsRight int            `json:"cuts_right"`

	Shown   int `json:"shown"` // transitions by the feed
	Missed  int `json:"missed"`
	Twice   int `json:"shown_twice"`
	Resumed int `json:"resumed"`

	Unexpected int      `json:"unexpected"`       // answers, and ends of processes, that must not be
	Wrongs     []string `json:"wrongs,omitempty"` // examples, in words
}

// violations is how much of what must not be there is.
func (v *verdict) violations() int {
	return v.Lost + v.Doubled + v.Stale + v.Invariants + v.Missed + v.Twice + v.Unexpected +
		(v.StaleMade - v.StaleRefused) + (v.StaleMade - v.StaleRecorded) + (v.CutsTotal - v.CutsRight)
}

func (v *verdict) wrong(format string, args ...any) {
	if len(v.Wrongs) < maxWrongs {
		v.Wrongs = append(v.Wrongs, fmt.Sprintf(format, args...))
	}
}

// add sums two runs up.
func (v *verdict) add(o *verdict) {
	for _, p := range []struct{ to, from *int }{
		{&v.Acknowledged, &o.Acknowledged}, {&v.Lost, &o.Lost}, {&v.Results, &o.Results}, {&v.Doubled, &o.Doubled},
		{&v.Writes, &o.Writes}, {&v.Stale, &o.Stale}, {&v.Invariants, &o.Invariants}, {&v.Refused, &o.Refused},
		{&v.Repeats, &o.Repeats}, {&v.Unsure, &o.Unsure}, {&v.StaleMade, &o.StaleMade}, {&v.StaleRefused, &o.StaleRefused},
		{&v.StaleRecorded, &o.StaleRecorded}, {&v.CutsTotal, &o.CutsTotal}, {&v.CutsRight, &o.CutsRight},
		{&v.Shown, &o.Shown}, {&v.Missed, &o.Missed}, {&v.Twice, &o.Twice}, {&v.Resumed, &o.Resumed}, {&v.Unexpected, &o.Unexpected},
	} {
		*p.to += *p.from
	}
	if v.Cuts == nil {
		v.Cuts = map[string]int{}
	}
	for verb, n := range o.Cuts {
		v.Cuts[verb] += n
	}
	v.Wrongs = append(v.Wrongs, o.Wrongs...)
}

// acceptedSQL holds each accepted write of an attempt against the log before
// it: its generation is the newest claimed, its attempt has not ended, and its
// deadline lies ahead. It knows nothing of the store's own guard.
const acceptedSQL = `
with log as (
  select t.job_id, t.id, t.type, t.at, t.generation,
         max(t.generation) filter (where t.type = 'claimed') over job as current,
         max(t.lease_until) filter (where t.type in ('claimed', 'renewed')) over attempt as until,
         count(*) filter (where t.type in ('completed', 'failed', 'released', 'expired', 'requeued', 'terminated')) over attempt as ended
  from fenceline.transitions t
  where t.type <> 'rejected'
  window job as (partition by t.job_id order by t.id rows between unbounded preceding and 1 preceding),
         attempt as (partition by t.job_id, t.attempt_id order by t.id rows between unbounded preceding and 1 preceding)
)
select count(*)::int, (count(*) filter (where generation is distinct from current or ended > 0 or until is null or at >= until))::int
from log
where type in ('renewed', 'completed', 'failed', 'released')`

// doubledSQL counts results beyond one for each time that a job was to be done,
// follow-ups of one name beyond one, jobs of one key beyond one.
const doubledSQL = `
select coalesce((select sum(greatest(done - 1 - again, 0)) from (
    select count(*) filter (where type = 'completed') as done, count(*) filter (where type = 'requeued' and from_state = 'completed') as again
    from fenceline.transitions group by job_id) r), 0)::int
  + coalesce((select sum(n - 1) from (select count(*) as n from fenceline.jobs where parent_id is not null group by parent_id, follow_name) f where n > 1), 0)::int
  + coalesce((select sum(n - 1) from (select count(*) as n from fenceline.jobs where key is not null group by kind, key) k where n > 1), 0)::int,
  (select count(*) from fenceline.transitions where type = 'completed')::int,
  (select count(*) from fenceline.transitions where type = 'rejected')::int`

// lostSQL counts acknowledged jobs that are not there under their key, jobs
// that never came to an end that somebody wanted, acknowledged actions without
// a record, and results without their follow-ups.
const lostSQL = `
select (select count(*) from acknowledged a where not exists (select from fenceline.jobs j where j.id = a.id and j.key = a.key))::int,
       (select count(*) from fenceline.jobs j where j.state not in ('completed', 'terminated'))::int,
       (select count(*) from acted a where not exists (select from fenceline.transitions t
          where t.job_id = a.id and t.type::text = a.type and t.revision = a.seen + 1))::int,
       (select count(*) from fenceline.jobs p cross join unnest($1::text[]) as name
          where p.kind = $2 and p.result_attempt_id is not null
            and not exists (select from fenceline.jobs c where c.parent_id = p.id and c.follow_name = name))::int`

// recordedSQL counts the stale writes on record: at least once, and not more
// often than they were sent.
const recordedSQL = `
select count(*)::int from stale s
where (select count(*) from fenceline.transitions t
       where t.job_id = s.job and t.attempt_id = s.attempt and t.type = 'rejected' and t.op::text = s.op) between 1 and s.offers`

// judge reads the ending from the database. What the processes were told counts
// only as what must be found there.
func (r *Rig) judge(ctx context.Context) (*verdict, error) {
	v, told := &verdict{}, r.ledger.snapshot()
	conn, err := r.owner(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := told.load(ctx, conn); err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	var missing, unfinished, undone, childless int
	for _, q := range []struct {
		sql  string
		args []any
		into []any
	}{
		{acceptedSQL, nil, []any{&v.Writes, &v.Stale}},
		{doubledSQL, nil, []any{&v.Doubled, &v.Results, &v.Refused}},
		{lostSQL, []any{followUps, kindParent}, []any{&missing, &unfinished, &undone, &childless}},
		{recordedSQL, nil, []any{&v.StaleRecorded}},
	} {
		if err := conn.QueryRow(ctx, q.sql, q.args...).Scan(q.into...); err != nil {
			return nil, fmt.Errorf("judge: %w", err)
		}
	}
	v.Lost = missing + unfinished + undone + childless
	if v.Lost > 0 {
		v.wrong("of what was acknowledged %d jobs are missing, %d have not ended, %d actions have no record, %d follow-ups are missing", missing, unfinished, undone, childless)
	}
	v.told(told)
	return v, r.verify(ctx, v)
}

// told adds what only the processes know.
func (v *verdict) told(l *ledger) {
	v.Unexpected = len(l.wrongs)
	v.Acknowledged, v.Unsure = len(l.enqueued)+len(l.acted), l.unsure
	for _, n := range l.effects {
		v.Repeats += n - 1
	}
	for _, w := range l.stale {
		v.StaleMade++
		if w.Refused {
			v.StaleRefused++
		} else {
			v.wrong("%s by an attempt of job %d that was over: %s", w.Op, w.Job, w.Text)
		}
	}
	for _, text := range l.wrongs {
		v.wrong("%s", text)
	}
}

// verify asks the product's own verifier too.
func (r *Rig) verify(ctx context.Context, v *verdict) error {
	st, err := store.Open(ctx, store.Config{URL: r.url, MaxConns: 2, RenewalConns: 1})
	if err != nil {
		return err
	}
	defer st.Close()
	report, err := st.Verify(ctx)
	if err != nil {
		return err
	}
	v.Invariants = len(report.Violations)
	for i, x := range report.Violations {
		if i < 5 {
			v.wrong("%s: job %d: %s", x.Invariant, x.JobID, x.Message)
		}
	}
	return nil
}

// load puts what was acknowledged beside the tables, for the judge's SQL.
func (l *ledger) load(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `create temp table acknowledged (key text, id bigint);
		create temp table acted (id bigint, type text, seen bigint);
		create temp table stale (job bigint, attempt uuid, op text, offers int)`)
	if err != nil {
		return err
	}
	var acknowledged, acted, stale [][]any
	for key, id := range l.enqueued {
		acknowledged = append(acknowledged, []any{key, id})
	}
	for _, w := range l.acted {
		of := store.TypeRequeued
		if w.Text == string(store.ActionTerminate) {
			of = store.TypeTerminated
		}
		acted = append(acted, []any{w.Job, string(of), w.Revision})
	}
	for _, w := range l.stale {
		stale = append(stale, []any{w.Job, w.Attempt, string(w.Op), w.Offers})
	}
	for _, t := range []struct {
		name    string
		columns []string
		rows    [][]any
	}{
		{"acknowledged", []string{"key", "id"}, acknowledged},
		{"acted", []string{"id", "type", "seen"}, acted},
		{"stale", []string{"job", "attempt", "op", "offers"}, stale},
	} {
		if _, err := conn.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromRows(t.rows)); err != nil {
			return err
		}
	}
	_, err = conn.Exec(ctx, "analyze acknowledged; analyze acted; analyze stale")
	return err
}
