package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store/redact"
)

// NewArgs are other args for a job: those that are given, or those of a version
// that is kept.
type NewArgs struct {
	Args    json.RawMessage // nil for none
	Restore int64           // the number of the version; 0 for none
}

func (a NewArgs) given() bool { return a.Args != nil || a.Restore != 0 }

func (a NewArgs) check() error {
	switch {
	case a.Restore < 0:
		return &InvalidError{"restore", "must be the number of a version of the job's args"}
	case a.Restore != 0 && a.Args != nil:
		return &InvalidError{"restore", "cannot be given together with args"}
	case a.Args != nil:
		return CheckJSON("args", a.Args, MaxArgs)
	}
	return nil
}

// refill keeps what a rule kept from whoever changed the args: they had only its
// cover to send back. The args that are read are those of the revision that was
// seen, or the change is refused.
func (s *Store) refill(ctx context.Context, jobID int64, a *NewArgs) error {
	if a.Args == nil || !s.redact.KeepsValues() {
		return nil
	}
	kind, present, err := payload(ctx, s.pool, jobID)
	if err != nil {
		return err
	}
	if a.Args, err = s.redact.Refill(kind, redact.Args, a.Args, present.Args); err != nil {
		return &InvalidError{"args", err.Error()}
	}
	return nil
}

// Change is what an operator changes of one job. What is zero stays as it is.
type Change struct {
	NewArgs
	Priority    *int16
	Queue       string
	RunAt       time.Time // on the database's clock; what has passed means at once
	MaxAttempts int       // the whole budget, used attempts included
	AddTag      string
	RemoveTag   string
}

// MaxArgsVersions is how many versions of its args a job can have.
const MaxArgsVersions = 100

func (c Change) check() error {
	if err := c.NewArgs.check(); err != nil {
		return err
	}
	for _, f := range []struct {
		field, value string
		limit        int
	}{{"queue", c.Queue, MaxQueue}, {"add_tag", c.AddTag, MaxTag}, {"remove_tag", c.RemoveTag, MaxTag}} {
		if err := checkName(f.field, f.value, f.limit); err != nil {
			return err
		}
	}
	switch {
	case c.MaxAttempts < 0 || c.MaxAttempts > MaxAttempts:
		return &InvalidError{"max_attempts", fmt.Sprintf("must be between 1 and %d", MaxAttempts)}
	case c.AddTag != "" && c.AddTag == c.RemoveTag:
		return &InvalidError{"remove_tag", "is the tag that is to be added"}
	case !c.RunAt.IsZero():
		return CheckRunAt(c.RunAt)
	}
	return nil
}

func (c Change) nothing() bool {
	return !c.given() && c.Priority == nil && c.Queue == "" && c.RunAt.IsZero() && c.MaxAttempts == 0 && c.AddTag == "" && c.RemoveTag == ""
}

// field is what of the change a job's state does not allow.
func (c Change) field(why Conflict) string {
	switch {
	case why != ConflictRunning && why != ConflictAlreadyEnded:
		return ""
	case c.given():
		return "args"
	case !c.RunAt.IsZero():
		return "run_at"
	case c.Queue != "" && why == ConflictRunning:
		return "queue"
	}
	return ""
}

// impossible is what of the change the job, as it is, can not have.
func (c Change) impossible(verdict string, j Job) error {
	same := "is what the job has already"
	switch field := strings.TrimPrefix(verdict, "!"); field {
	case "restore":
		return &InvalidError{field, fmt.Sprintf("is no version of this job's args that is kept; they are at version %d", j.ArgsVersion)}
	case "versions":
		return &InvalidError{"args", fmt.Sprintf("has had %d versions, which is the limit; duplicate the job instead", MaxArgsVersions)}
	case "max_attempts":
		return &InvalidError{field, fmt.Sprintf("must be above %d, the budget that the job has", j.MaxAttempts)}
	case "remove_tag":
		return &InvalidError{field, "is no tag of the job"}
	case "tags":
		return &InvalidError{"add_tag", fmt.Sprintf("would be one more than the %d tags that a job can have", MaxTags)}
	case "args":
		if c.Restore != 0 {
			field = "restore"
		}
		return &InvalidError{field, same}
	default:
		return &InvalidError{field, same}
	}
}

// detail is what the change's transition carries beside its columns.
func (c Change) detail() Detail {
	return Detail{Restored: c.Restore, Priority: c.Priority, TagAdded: c.AddTag, TagRemoved: c.RemoveTag}
}

// params are $8 to $15 of the verbs that change something.
func (c Change) params() []any {
	var args *string
	if c.Args != nil {
		text := string(c.Args)
		args = &text
	}
	var priority *int32
	if c.Priority != nil {
		n := int32(*c.Priority)
		priority = &n
	}
	return []any{args, c.Restore, priority, c.Queue, orNoTime(c.RunAt), c.MaxAttempts, c.AddTag, c.RemoveTag}
}

// Other args: $8 those that are given, or null, $9 the version to restore, or 0.
// A version is one that was committed before the statement began; that it is the
// job's present state is what the revision says.
const (
	givenColumns = `, j.args`
	givenSQL     = `, g.given`
	givenJoins   = `
  cross join lateral (
    select case when $8::text is not null then $8::text::jsonb
                when $9::bigint = coalesce(l.args_version, 1) and l.erased_at is null then l.args
                when $9::bigint > 0 then (select a.args from fenceline.args_versions a where a.job_id = l.id and a.version = $9::bigint) end as given
  ) g`
	givenVerdicts = `           when $9::bigint > 0 and g.given is null then '!restore'
           when g.given is not null and coalesce(l.args_version, 1) >= 100 then '!versions'
`
	sameArgsVerdict = `           when g.given::text = l.args::text and l.erased_at is null then '!args'
`
	keptSQL = `, kept as (
  insert into fenceline.args_versions (job_id, version, replaced_at, replaced_by, args)
  select v.id, coalesce(v.args_version, 1), v.at, $3, v.args
  from verdict v
  where v.verdict = 'accepted' and v.given is not null and v.erased_at is null
)`
)

var requeueWithSQL = opening{
	columns: givenColumns, given: givenSQL, joins: givenJoins, audited: auditedArgs,
	verdicts: requeueVerdicts + givenVerdicts + sameArgsVerdict,
}.sql() + keptSQL + strings.NewReplacer(
	"{set}", ",\n      args = r.given, args_version = coalesce(r.args_version, 1) + 1, erased_at = null",
	"{detail}", "coalesce($6::jsonb, '{}') || jsonb_build_object('args_version', coalesce(r.args_version, 1) + 1)",
).Replace(requeueWithPart) + operatedOne + ` and ` + workNotified + `, null::bigint from verdict v`

// RequeueWith is [Store.Requeue] with other args. Those before are kept, but for
// erased ones; see [Store.ArgsVersions]. Of a running job it takes the lease away,
// so that no attempt holds a lease and other args than the job. An *[InvalidError]
// where they are what the job has already.
func (s *Store) RequeueWith(ctx context.Context, p OperatorParams, a NewArgs) (Job, error) {
	if !a.given() {
		return s.Requeue(ctx, p)
	}
	c := Change{NewArgs: a}
	if err := c.check(); err != nil {
		return Job{}, err
	}
	if err := s.refill(ctx, p.JobID, &c.NewArgs); err != nil {
		return Job{}, err
	}
	done, err := s.operate(ctx, operation{action: ActionRequeue, sql: requeueWithSQL, logs: TypeRequeued,
		detail: c.detail(), args: c.params()[:2], change: c}, p)
	return done.Job, err
}

// tagVerdicts, and changedTags, which is a row's tags under the change.
const (
	tagVerdicts = `           when $14::text <> '' and $14::text = any (l.tags) then '!add_tag'
           when $15::text <> '' and not coalesce($15::text = any (l.tags), false) then '!remove_tag'
           when $14::text <> '' and $15::text = '' and cardinality(l.tags) >= 32 then '!tags'
`
	changedTags = `nullif(array_remove(coalesce(v.tags, '{}'), $15::text) || case when $14::text = '' then '{}'::text[] else array[$14::text] end, '{}')`
)

// auditedArgs tells the audit that args were given, and nothing of them.
const auditedArgs = `coalesce($6::jsonb, '{}') || case when v.given is null then '{}'::jsonb else '{"args": "given"}' end`

// auditedChange is what the audit keeps of what was asked: all but args.
const auditedChange = auditedArgs + ` || jsonb_strip_nulls(jsonb_build_object('queue', nullif($11::text, ''), 'run_at', $12::timestamptz, 'max_attempts', nullif($13::integer, 0)))`

// amendSQL changes what a job is worked with and under which conditions, never
// under an attempt that runs: $10 priority, $11 queue, $12 due time, $13 budget,
// $14 tag to add, $15 tag to remove.
var amendSQL = opening{
	columns: givenColumns, given: givenSQL, joins: givenJoins, audited: auditedChange,
	verdicts: `           when l.state = 'running' and (g.given is not null or $9::bigint > 0 or $11::text <> '' or $12::timestamptz is not null) then 'running'
           when l.state in ('completed', 'discarded', 'terminated') and (g.given is not null or $9::bigint > 0 or $12::timestamptz is not null) then 'already_ended'
` + givenVerdicts + sameArgsVerdict + `           when $10::integer = l.priority then '!priority'
           when $11::text = l.queue then '!queue'
           when $13::integer > 0 and $13::integer <= l.max_attempts then '!max_attempts'
` + tagVerdicts,
}.sql() + keptSQL + `
, amended as materialized (
  select v.*, coalesce($10::integer::smallint, v.priority) as next_priority, coalesce(nullif($11::text, ''), v.queue) as next_queue,
         case when $12::timestamptz is null then v.run_at else greatest($12::timestamptz, v.at) end as due,
         case when $12::timestamptz is null then v.state
              when $12::timestamptz <= v.at then 'available'
              when v.state = 'available' then 'scheduled'
              else v.state end as next_state,
         greatest(v.max_attempts, $13::integer) as budget,
         case when v.given is null then v.args_version else coalesce(v.args_version, 1) + 1 end as next_version,
         ` + changedTags + ` as next_tags
  from verdict v
  where v.verdict = 'accepted'
), changed as (
  update fenceline.jobs j
  set revision = a.revision + 1, state = a.next_state, run_at = a.due, priority = a.next_priority, queue = a.next_queue,
      max_attempts = a.budget, tags = a.next_tags, args = coalesce(a.given, j.args), args_version = a.next_version
  from amended a
  where j.id = a.id
), logged as (
  insert into fenceline.transitions
    (job_id, at, generation, revision, run_at, type, from_state, to_state, attempts_used, max_attempts,
     kind, queue, actor, reason, detail)
  select a.id, a.at, a.generation, a.revision + 1, a.due, 'amended', a.state, a.next_state, a.attempts_used, a.budget,
         a.kind, a.next_queue, $3, $4,
         coalesce($6::jsonb, '{}') || jsonb_strip_nulls(jsonb_build_object(
           'args_version', case when a.given is not null then a.next_version end,
           'priority_was', case when $10::integer is not null then a.priority end,
           'queue_was', case when $11::text <> '' then a.queue end,
           'run_at_was', case when $12::timestamptz is not null then to_jsonb(a.run_at) end,
           'max_attempts_was', case when $13::integer > 0 then a.max_attempts end))
  from amended a
)` + operatedOne + ` and ` + workNotified + `, null::bigint from verdict v`

// Amend changes a job, all of the change or nothing, bound to the revision that
// was seen. In every state: its priority, its budget, which only grows, and its
// tags. Its queue, but not while it runs: a running job counts against the limits
// of its queue. Its args and its due time only while it waits; what has ended gets
// other args from [Store.RequeueWith], and so does what runs, which takes the
// lease away. *[ConflictError] names the field that its state does not allow, or
// says that it changed since; an *[InvalidError] the field that is what it was or
// cannot be. [ErrNotFound] when there is no such job.
func (s *Store) Amend(ctx context.Context, p OperatorParams, c Change) (Job, error) {
	if err := c.check(); err != nil {
		return Job{}, err
	}
	if c.nothing() {
		return Job{}, &InvalidError{"change", "names nothing that is to be changed"}
	}
	if err := s.refill(ctx, p.JobID, &c.NewArgs); err != nil {
		return Job{}, err
	}
	done, err := s.operate(ctx, operation{action: ActionAmend, sql: amendSQL, logs: TypeAmended,
		detail: c.detail(), args: c.params(), change: c}, p)
	return done.Job, err
}
