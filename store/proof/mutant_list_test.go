package proof

// mutant is one rule of the protocol's SQL taken away or weakened.
type mutant struct {
	rule  string   // what no longer holds
	in    string   // a fragment that only the statements concerned hold
	edits []string // pairs: a fragment of theirs, and what takes its place everywhere
	ddl   string   // what the schema's owner does beforehand
}

// Fragments by which the statements are told apart.
const (
	inGuard     = "with offered as materialized ("
	inRenew     = "'renewed', v.kind"
	inComplete  = ", results as materialized ("
	inFail      = "), failed as materialized ("
	inRelease   = ", released as materialized ("
	inClaim     = "), claim as materialized ("
	inExpire    = "), expired as materialized ("
	inPromote   = "'promoted', d.state"
	inOperators = "insert into fenceline.audit (at, job_id, seen"
	inRequeue   = ", requeued as materialized ("
	inTerminate = ", ended as materialized ("
	inFollowUp  = "on conflict (parent_id, follow_name)"
)

const (
	didIt = "fenceline.attempt_did(bigint, uuid, bigint, fenceline.transition_type)"

	guardLock    = "  order by j.id\n  for no key update\n"
	operatorLock = "  where j.id = $1\n  for no key update\n"
	skipLocked   = "\n  for no key update skip locked"
	guardClock   = "select clock_timestamp() as at, count(*) as rows from locked"
)

var mutants = []mutant{
	// The guard's conditions.
	{rule: "guard: attempt id compared", in: inGuard, edits: []string{"when l.attempt_id = o.attempt_id\n            and l.generation", "when l.generation"}},
	{rule: "guard: generation compared", in: inGuard, edits: []string{"            and l.generation = o.generation\n            and l.state = 'running'", "            and l.state = 'running'"}},
	{rule: "guard: state is running", in: inGuard, edits: []string{"            and l.state = 'running'\n", ""}},
	{rule: "guard: lease alive", in: inGuard, edits: []string{"            and l.lease_until > c.at then", " then"}},

	// Its lock and its clock.
	{rule: "guard: locks the row", in: inGuard, edits: []string{guardLock, "  order by j.id\n"}},
	{rule: "guard: decides on the locked row", in: inGuard, edits: []string{"left join locked l on", "left join fenceline.jobs l on"}},
	{rule: "guard: clock read after the lock, not with it", in: inGuard, edits: []string{
		"j.result_attempt_id, j.result_generation\n", "j.result_attempt_id, j.result_generation, clock_timestamp() as read\n",
		guardClock, "select coalesce(min(read), clock_timestamp()) as at, count(*) as rows from locked"}},
	{rule: "guard: clock read after the lock, not the statement's", in: inGuard, edits: []string{guardClock, "select statement_timestamp() as at, count(*) as rows from locked"}},

	// Repeats.
	{rule: "repeat: known by the attempt's end", in: inGuard, edits: []string{"and l.attempt_end::text = ended.word then", "and false then"}},
	{rule: "repeat: of the same verb", in: inGuard, edits: []string{"and l.attempt_end::text = ended.word then", "and l.attempt_end is not null then"}},
	{rule: "repeat: known by the result's owner", in: inGuard, edits: []string{"when $4 = 'complete' and l.result_attempt_id", "when false and l.result_attempt_id"}},
	{rule: "repeat: the result's owner repeats only its result", in: inGuard, edits: []string{"when $4 = 'complete' and l.result_attempt_id", "when l.result_attempt_id"}},
	{rule: "repeat: the result's owner by generation too", in: inGuard, edits: []string{"\n            and l.result_generation = o.generation then", " then"}},
	{rule: "repeat: known by the log", in: inGuard, edits: []string{"and fenceline.attempt_did(", "and false and fenceline.attempt_did("}},
	{rule: "repeat: the log asked for this attempt", ddl: `create or replace function fenceline.attempt_did(job bigint, attempt uuid, generation bigint, done fenceline.transition_type)
		returns boolean language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
		begin return exists (select from fenceline.transitions t where t.job_id = job and t.generation = attempt_did.generation and t.type = done); end $$`},
	{rule: "repeat: the log read as it is now", ddl: "alter function " + didIt + " stable"},

	// What a refusal is called, and its record.
	{rule: "refusal: superseded comes first", in: inGuard, edits: []string{"when l.generation <> o.generation or l.attempt_id is distinct from o.attempt_id then 'superseded'", ""}},
	{rule: "refusal: terminated is told apart", in: inGuard, edits: []string{"when l.state = 'terminated' or l.attempt_end = 'terminated' then 'terminated'", ""}},
	{rule: "refusal: a swept lease is told apart", in: inGuard, edits: []string{"when l.state = 'running' or l.attempt_end = 'expired' then", "when l.state = 'running' then"}},
	{rule: "refusal: recorded", in: inGuard, edits: []string{"where v.verdict not in ('accepted', 'repeated', 'unknown_job')", "where false"}},
	{rule: "refusal: a repeat is none", in: inGuard, edits: []string{"where v.verdict not in ('accepted', 'repeated', 'unknown_job')", "where v.verdict not in ('accepted', 'unknown_job')"}},
	{rule: "refusal: of an unknown job recorded", in: inGuard, edits: []string{"where v.verdict = 'unknown_job'", "where false"}},

	// What the verbs write, and for whom.
	{rule: "renew: accepted only", in: inRenew, edits: []string{"where v.verdict = 'accepted' and j.id = v.id", "where j.id = v.id"}},
	{rule: "renew: leaves the revision", in: inRenew, edits: []string{"set lease_until = v.at", "set revision = j.revision + 1, lease_until = v.at"}},
	{rule: "renew: recorded", in: inRenew, edits: []string{"  where v.verdict = 'accepted'\n)", "  where false\n)"}},
	{rule: "complete: accepted only", in: inComplete, edits: []string{"where v.verdict = 'accepted' and j.id = v.id", "where j.id = v.id"}},
	{rule: "complete: replaces an older result", in: inComplete, edits: []string{"result = r.result::jsonb", "result = coalesce(j.result, r.result::jsonb)"}},
	{rule: "complete: recorded", in: inComplete, edits: []string{"  where v.verdict = 'accepted'\n)", "  where false\n)"}},
	{rule: "complete: raises the revision", in: inComplete, edits: []string{"v.revision + 1", "v.revision"}},
	{rule: "fail: accepted only, above all no retry", in: inFail, edits: []string{"  where v.verdict = 'accepted'\n", ""}},
	{rule: "fail: ends at the budget", in: inFail, edits: []string{"f.permanent or v.attempts_used >= v.max_attempts", "f.permanent", "when v.attempts_used >= v.max_attempts then", "when false then"}},
	{rule: "fail: permanent ends", in: inFail, edits: []string{"f.permanent or v.attempts_used", "v.attempts_used"}},
	{rule: "fail: ends the attempt", in: inFail, edits: []string{"attempt_end = 'failed', ", ""}},
	{rule: "release: accepted only", in: inRelease, edits: []string{"  where v.verdict = 'accepted'\n), changed", "), changed"}},
	{rule: "release: charges what had started", in: inRelease, edits: []string{"case when ($6::bool[])[v.n] then 0 else 1 end", "1"}},
	{rule: "release: gives the unstarted back", in: inRelease, edits: []string{"case when ($6::bool[])[v.n] then 0 else 1 end", "0"}},
	{rule: "release: ends at the budget", in: inRelease, edits: []string{"r.charged >= r.max_attempts", "false"}},

	// Claims.
	{rule: "claim: locks the row", in: inClaim, edits: []string{skipLocked, ""}},
	{rule: "claim: available only", in: inClaim, edits: []string{"where j.state = 'available'", "where j.state in ('available', 'running')"}},
	{rule: "claim: of its queue", in: inClaim, edits: []string{"and j.queue = $1", "and $1::text is not null"}},
	{rule: "claim: of handled kinds", in: inClaim, edits: []string{"and j.kind = any ($2::text[])", ""}},
	{rule: "claim: raises the generation", in: inClaim, edits: []string{"c.generation + 1", "greatest(c.generation, 1)"}},
	{rule: "claim: charges the budget", in: inClaim, edits: []string{"c.attempts_used + 1", "c.attempts_used"}},
	{rule: "claim: takes the budget with the count", in: inClaim, edits: []string{"max_attempts = c.max_attempts,", ""}},
	{rule: "claim: raises the revision", in: inClaim, edits: []string{"c.revision + 1", "c.revision"}},
	{rule: "claim: takes the row over", in: inClaim, edits: []string{"attempt_id = c.attempt_id, attempt_end = null", "attempt_id = coalesce(j.attempt_id, c.attempt_id), attempt_end = null"}},

	// The sweeps.
	{rule: "expire: deadline passed", in: inExpire, edits: []string{"and j.lease_until <= clock_timestamp()", "", "where d.lease_until <= c.at", ""}},
	{rule: "expire: looks at the deadline before it takes rows", in: inExpire, edits: []string{"and j.lease_until <= clock_timestamp()", ""}},
	{rule: "expire: running only", in: inExpire, edits: []string{"where j.state = 'running'\n    and", "where"}},
	{rule: "expire: locks the row", in: inExpire, edits: []string{skipLocked, ""}},
	{rule: "expire: locks the row and compares the generation", in: inExpire, edits: []string{skipLocked, "", "and j.generation = e.generation", ""}},
	{rule: "expire: ends at the budget", in: inExpire, edits: []string{"when d.attempts_used >= d.max_attempts then 'discarded'", ""}},
	{rule: "expire: back at once after the first", in: inExpire, edits: []string{"d.attempts_used <= 1", "false"}},
	{rule: "expire: ends the attempt", in: inExpire, edits: []string{"attempt_end = 'expired', ", ""}},
	{rule: "promote: due only", in: inPromote, edits: []string{"and j.run_at <= statement_timestamp()", ""}},
	{rule: "promote: locks the row", in: inPromote, edits: []string{skipLocked, ""}},

	// Operators.
	{rule: "operators: revision seen", in: inOperators, edits: []string{"when l.revision <> $2 then 'changed'", ""}},
	{rule: "operators: lock the row", in: inOperators, edits: []string{operatorLock, "  where j.id = $1\n"}},
	{rule: "operators: decide on the locked row", in: inOperators, edits: []string{"  from locked l\n", "  from (select j.* from fenceline.jobs j where j.id = $1) l\n"}},
	{rule: "operators: refused actions audited", in: inOperators, edits: []string{"when 'accepted' then 'done' else v.verdict end, $4\n  from verdict v\n", "when 'accepted' then 'done' else v.verdict end, $4\n  from verdict v\n  where v.verdict = 'accepted'\n"}},
	{rule: "requeue: not of a waiting job", in: inRequeue, edits: []string{"when $5 = 'requeue' and l.state = 'available' then 'already_waiting'", ""}},
	{rule: "requeue: grants one more attempt", in: inRequeue, edits: []string{"greatest(v.max_attempts, v.attempts_used + 1)", "v.max_attempts"}},
	{rule: "requeue: takes the lease away", in: inRequeue, edits: []string{"then 'requeued' else r.attempt_end end", "then null else r.attempt_end end"}},
	{rule: "terminate: not of an ended job", in: inTerminate, edits: []string{"when $5 = 'terminate' and l.state in ('completed', 'discarded', 'terminated') then 'already_ended'", ""}},
	{rule: "terminate: takes the lease away", in: inTerminate, edits: []string{"then 'terminated' else e.attempt_end end", "then null else e.attempt_end end"}},
	{rule: "terminate: raises the revision", in: inTerminate, edits: []string{"revision = e.revision + 1", "revision = e.revision"}},

	// What is unique.
	{rule: "follow-ups: one by parent and name", in: inFollowUp, edits: []string{"on conflict (parent_id, follow_name) where parent_id is not null do nothing", ""}, ddl: "drop index fenceline.jobs_follow_up"},
	{rule: "enqueue: one job by key", ddl: "drop index fenceline.jobs_key"},
}
