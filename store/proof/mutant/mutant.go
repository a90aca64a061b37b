// Package mutant lists the rules of the protocol's SQL, each taken away or
// weakened in turn. A proof or a drill that does not miss a rule when it is gone
// shows nothing.
package mutant

import (
	"fmt"
	"strings"
)

// Mutant is one rule taken away or weakened.
type Mutant struct {
	Rule  string   // what no longer holds
	In    string   // a fragment that only the statements concerned hold; empty when the schema alone is changed
	Edits []string // pairs: a fragment of theirs, and what takes its place everywhere
	DDL   string   // what the schema's owner does beforehand
}

// Concerns reports whether the statement is one that the mutant rewrites.
func (m Mutant) Concerns(sql string) bool { return m.In != "" && strings.Contains(sql, m.In) }

// Apply rewrites a statement that the mutant concerns. The error says that the
// statement no longer holds what the mutant takes away.
func (m Mutant) Apply(sql string) (string, error) {
	for i := 0; i < len(m.Edits); i += 2 {
		if !strings.Contains(sql, m.Edits[i]) {
			return sql, fmt.Errorf("the statement no longer holds %q", m.Edits[i])
		}
		sql = strings.ReplaceAll(sql, m.Edits[i], m.Edits[i+1])
	}
	return sql, nil
}

// Unfenced is the protocol without its fence: an attempt's write is accepted
// whenever its job is running, whoever runs it.
var Unfenced = Mutant{Rule: "guard: fenced at all", In: InGuard, Edits: []string{"when l.attempt_id = o.attempt_id\n" +
	"            and l.generation = o.generation\n            and l.state = 'running'\n            and l.lease_until > c.at then", "when l.state = 'running' then"}}

// Fragments by which the statements are told apart.
const (
	InGuard     = "with offered as materialized ("
	InRenew     = "'renewed', v.kind"
	InComplete  = ", results as materialized ("
	InFail      = "), failed as materialized ("
	InRelease   = ", released as materialized ("
	InClaim     = "), claim as materialized ("
	InExpire    = "), expired as materialized ("
	InPromote   = "'promoted', d.state"
	InOperators = "insert into fenceline.audit (at, job_id, seen"
	InRequeue   = ", requeued as materialized ("
	InTerminate = ", ended as materialized ("
	InAmend     = ", amended as materialized ("
	InErase     = ", erased as materialized ("
	InFollowUp  = "on conflict (parent_id, follow_name)"
)

const (
	didIt = "fenceline.attempt_did(bigint, uuid, bigint, fenceline.transition_type)"

	guardLock    = "  order by j.id\n  for no key update\n"
	operatorLock = "  where j.id = $1\n  for no key update\n"
	skipLocked   = "\n  for no key update skip locked"
	guardClock   = "select clock_timestamp() as at, count(*) as rows from locked"
)

// All is every mutant.
var All = []Mutant{
	Unfenced,

	// The guard's conditions.
	{Rule: "guard: attempt id compared", In: InGuard, Edits: []string{"when l.attempt_id = o.attempt_id\n            and l.generation", "when l.generation"}},
	{Rule: "guard: generation compared", In: InGuard, Edits: []string{"            and l.generation = o.generation\n            and l.state = 'running'", "            and l.state = 'running'"}},
	{Rule: "guard: state is running", In: InGuard, Edits: []string{"            and l.state = 'running'\n", ""}},
	{Rule: "guard: lease alive", In: InGuard, Edits: []string{"            and l.lease_until > c.at then", " then"}},

	// Its lock and its clock.
	{Rule: "guard: locks the row", In: InGuard, Edits: []string{guardLock, "  order by j.id\n"}},
	{Rule: "guard: decides on the locked row", In: InGuard, Edits: []string{"left join locked l on", "left join fenceline.jobs l on"}},
	{Rule: "guard: clock read after the lock, not with it", In: InGuard, Edits: []string{
		"j.result_attempt_id, j.result_generation\n", "j.result_attempt_id, j.result_generation, clock_timestamp() as read\n",
		guardClock, "select coalesce(min(read), clock_timestamp()) as at, count(*) as rows from locked"}},
	{Rule: "guard: clock read after the lock, not the statement's", In: InGuard, Edits: []string{guardClock, "select statement_timestamp() as at, count(*) as rows from locked"}},

	// Repeats.
	{Rule: "repeat: known by the attempt's end", In: InGuard, Edits: []string{"and l.attempt_end::text = ended.word then", "and false then"}},
	{Rule: "repeat: of the same verb", In: InGuard, Edits: []string{"and l.attempt_end::text = ended.word then", "and l.attempt_end is not null then"}},
	{Rule: "repeat: known by the result's owner", In: InGuard, Edits: []string{"when $4 = 'complete' and l.result_attempt_id", "when false and l.result_attempt_id"}},
	{Rule: "repeat: the result's owner repeats only its result", In: InGuard, Edits: []string{"when $4 = 'complete' and l.result_attempt_id", "when l.result_attempt_id"}},
	{Rule: "repeat: the result's owner by generation too", In: InGuard, Edits: []string{"\n            and l.result_generation = o.generation then", " then"}},
	{Rule: "repeat: known by the log", In: InGuard, Edits: []string{"and fenceline.attempt_did(", "and false and fenceline.attempt_did("}},
	{Rule: "repeat: the log asked for this attempt", DDL: `create or replace function fenceline.attempt_did(job bigint, attempt uuid, generation bigint, done fenceline.transition_type)
		returns boolean language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
		begin return exists (select from fenceline.transitions t where t.job_id = job and t.generation = attempt_did.generation and t.type = done); end $$`},
	{Rule: "repeat: the log read as it is now", DDL: "alter function " + didIt + " stable"},

	// What a refusal is called, and its record.
	{Rule: "refusal: superseded comes first", In: InGuard, Edits: []string{"when l.generation <> o.generation or l.attempt_id is distinct from o.attempt_id then 'superseded'", ""}},
	{Rule: "refusal: terminated is told apart", In: InGuard, Edits: []string{"when l.state = 'terminated' or l.attempt_end = 'terminated' then 'terminated'", ""}},
	{Rule: "refusal: a swept lease is told apart", In: InGuard, Edits: []string{"when l.state = 'running' or l.attempt_end = 'expired' then", "when l.state = 'running' then"}},
	{Rule: "refusal: recorded", In: InGuard, Edits: []string{"where v.verdict not in ('accepted', 'repeated', 'unknown_job')", "where false"}},
	{Rule: "refusal: a repeat is none", In: InGuard, Edits: []string{"where v.verdict not in ('accepted', 'repeated', 'unknown_job')", "where v.verdict not in ('accepted', 'unknown_job')"}},
	{Rule: "refusal: of an unknown job recorded", In: InGuard, Edits: []string{"where v.verdict = 'unknown_job'", "where false"}},

	// What the verbs write, and for whom.
	{Rule: "renew: accepted only", In: InRenew, Edits: []string{"where v.verdict = 'accepted' and j.id = v.id", "where j.id = v.id"}},
	{Rule: "renew: leaves the revision", In: InRenew, Edits: []string{"set lease_until = v.at", "set revision = j.revision + 1, lease_until = v.at"}},
	{Rule: "renew: recorded", In: InRenew, Edits: []string{"  where v.verdict = 'accepted'\n)", "  where false\n)"}},
	{Rule: "complete: accepted only", In: InComplete, Edits: []string{"where v.verdict = 'accepted' and j.id = v.id", "where j.id = v.id"}},
	{Rule: "complete: replaces an older result", In: InComplete, Edits: []string{"result = r.result::jsonb", "result = coalesce(j.result, r.result::jsonb)"}},
	{Rule: "complete: recorded", In: InComplete, Edits: []string{"  where v.verdict = 'accepted'\n)", "  where false\n)"}},
	{Rule: "complete: raises the revision", In: InComplete, Edits: []string{"v.revision + 1", "v.revision"}},
	{Rule: "fail: accepted only, above all no retry", In: InFail, Edits: []string{"  where v.verdict = 'accepted'\n", ""}},
	{Rule: "fail: ends at the budget", In: InFail, Edits: []string{"f.permanent or v.attempts_used >= v.max_attempts", "f.permanent", "when v.attempts_used >= v.max_attempts then", "when false then"}},
	{Rule: "fail: permanent ends", In: InFail, Edits: []string{"f.permanent or v.attempts_used", "v.attempts_used"}},
	{Rule: "fail: ends the attempt", In: InFail, Edits: []string{"attempt_end = 'failed', ", ""}},
	{Rule: "release: accepted only", In: InRelease, Edits: []string{"  where v.verdict = 'accepted'\n), changed", "), changed"}},
	{Rule: "release: charges what had started", In: InRelease, Edits: []string{"case when ($6::bool[])[v.n] then 0 else 1 end", "1"}},
	{Rule: "release: gives the unstarted back", In: InRelease, Edits: []string{"case when ($6::bool[])[v.n] then 0 else 1 end", "0"}},
	{Rule: "release: ends at the budget", In: InRelease, Edits: []string{"r.charged >= r.max_attempts", "false"}},

	// Claims.
	{Rule: "claim: locks the row", In: InClaim, Edits: []string{skipLocked, ""}},
	{Rule: "claim: available only", In: InClaim, Edits: []string{"where j.state = 'available'", "where j.state in ('available', 'running')"}},
	{Rule: "claim: of its queue", In: InClaim, Edits: []string{"and j.queue = $1", "and $1::text is not null"}},
	{Rule: "claim: of handled kinds", In: InClaim, Edits: []string{"and array_position((select a.kinds from admitted a), j.kind) is not null", ""}},
	{Rule: "claim: raises the generation", In: InClaim, Edits: []string{"c.generation + 1", "greatest(c.generation, 1)"}},
	{Rule: "claim: charges the budget", In: InClaim, Edits: []string{"c.attempts_used + 1", "c.attempts_used"}},
	{Rule: "claim: takes the budget with the count", In: InClaim, Edits: []string{"max_attempts = c.max_attempts,", ""}},
	{Rule: "claim: raises the revision", In: InClaim, Edits: []string{"c.revision + 1", "c.revision"}},
	{Rule: "claim: takes the row over", In: InClaim, Edits: []string{"attempt_id = c.attempt_id, attempt_end = null", "attempt_id = coalesce(j.attempt_id, c.attempt_id), attempt_end = null"}},

	// The sweeps.
	{Rule: "expire: deadline passed", In: InExpire, Edits: []string{"and j.lease_until <= clock_timestamp()", "", "where d.lease_until <= c.at", ""}},
	{Rule: "expire: looks at the deadline before it takes rows", In: InExpire, Edits: []string{"and j.lease_until <= clock_timestamp()", ""}},
	{Rule: "expire: running only", In: InExpire, Edits: []string{"where j.state = 'running'\n    and", "where"}},
	{Rule: "expire: locks the row", In: InExpire, Edits: []string{skipLocked, ""}},
	{Rule: "expire: locks the row and compares the generation", In: InExpire, Edits: []string{skipLocked, "", "and j.generation = e.generation", ""}},
	{Rule: "expire: ends at the budget", In: InExpire, Edits: []string{"when d.attempts_used >= d.max_attempts then 'discarded'", ""}},
	{Rule: "expire: back at once after the first", In: InExpire, Edits: []string{"d.attempts_used <= 1", "false"}},
	{Rule: "expire: ends the attempt", In: InExpire, Edits: []string{"attempt_end = 'expired', ", ""}},
	{Rule: "promote: due only", In: InPromote, Edits: []string{"and j.run_at <= statement_timestamp()", ""}},
	{Rule: "promote: locks the row", In: InPromote, Edits: []string{skipLocked, ""}},

	// Operators.
	{Rule: "operators: revision seen", In: InOperators, Edits: []string{"when l.revision <> $2 then 'changed'", ""}},
	{Rule: "operators: lock the row", In: InOperators, Edits: []string{operatorLock, "  where j.id = $1\n"}},
	{Rule: "operators: decide on the locked row", In: InOperators, Edits: []string{"  from locked l\n", "  from (select j.* from fenceline.jobs j where j.id = $1) l\n"}},
	{Rule: "operators: refused actions audited", In: InOperators, Edits: []string{"  where v.verdict <> 'repeated' and v.verdict not like '!%'\n", "  where v.verdict = 'accepted'\n"}},
	{Rule: "requeue: not of a waiting job", In: InRequeue, Edits: []string{"when $5 = 'requeue' and l.state = 'available' then 'already_waiting'", ""}},
	{Rule: "requeue: grants one more attempt", In: InRequeue, Edits: []string{"greatest(v.max_attempts, v.attempts_used + 1)", "v.max_attempts"}},
	{Rule: "requeue: takes the lease away", In: InRequeue, Edits: []string{"then 'requeued' else r.attempt_end end", "then null else r.attempt_end end"}},
	{Rule: "requeue: not of erased args", In: "when $5 = 'requeue' and l.erased_at", Edits: []string{"when $5 = 'requeue' and l.erased_at is not null then 'erased'", ""}, DDL: "alter table fenceline.jobs drop constraint what_is_erased_does_not_run"},
	{Rule: "amend: not the args of a running job", In: InAmend, Edits: []string{"when l.state = 'running' and (g.given is not null", "when l.state = 'running' and (false"}},
	{Rule: "amend: the budget only grows", In: InAmend, Edits: []string{"when $13::integer > 0 and $13::integer <= l.max_attempts then '!max_attempts'", ""}},
	{Rule: "amend: keeps the args before", In: InAmend, Edits: []string{"where v.verdict = 'accepted' and v.given is not null", "where false and v.given is not null"}},
	{Rule: "erase: of ended jobs only", In: InErase, Edits: []string{"when l.state not in ('completed', 'discarded', 'terminated') then 'not_ended'", ""}},
	{Rule: "erase: the request too", In: InErase, Edits: []string{"case when j.key is not null then '\\x'::bytea end", "j.request_hash"}},
	{Rule: "terminate: not of an ended job", In: InTerminate, Edits: []string{"when $5 = 'terminate' and l.state in ('completed', 'discarded', 'terminated') then 'already_ended'", ""}},
	{Rule: "terminate: takes the lease away", In: InTerminate, Edits: []string{"then 'terminated' else e.attempt_end end", "then null else e.attempt_end end"}},
	{Rule: "terminate: raises the revision", In: InTerminate, Edits: []string{"revision = e.revision + 1", "revision = e.revision"}},

	// What is unique.
	{Rule: "follow-ups: one by parent and name", In: InFollowUp, Edits: []string{"on conflict (parent_id, follow_name) where parent_id is not null do nothing", ""}, DDL: "drop index fenceline.jobs_follow_up"},
	{Rule: "enqueue: one job by key", DDL: "drop index fenceline.jobs_key"},
}
