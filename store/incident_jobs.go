package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// MaxIncidentJobs is how many jobs of an incident are kept. The step that reaches
// it is kept whole.
const MaxIncidentJobs = 100000

// evidenceBefore is how far before an incident was opened its evidence may lie.
const evidenceBefore = 15 * time.Minute

// isEvidenceSQL holds a transition b against what is evidence of an incident r.
// Retries are claims of a later generation; what operators caused is left out.
const isEvidenceSQL = `b.type::text = any (r.types) and b.queue <> '` + DrillQueue + `'
    and (r.kind = '' or b.kind = r.kind) and (r.queue = '' or b.queue = r.queue)
    and (r.job_id is null or r.fingerprint <> '' or b.job_id = r.job_id)
    and (r.fingerprint = '' or b.fingerprint = r.fingerprint)
    and (b.type not in ('claimed', 'renewed') or b.marked)
    and (b.type <> 'rejected' or b.reason in ('superseded', 'lease_expired'))`

// touchesSQL keeps pairs of an incident and a job, and how many there are, which
// nobody has to count again: the two always change together.
const touchesSQL = `touched as (
  insert into fenceline.incident_jobs (incident_id, job_id)
  select distinct n.incident_id, n.job_id from touching n
  on conflict do nothing
  returning incident_id
), numbered as (
  insert into fenceline.incident_touches as c (incident_id, n)
  select t.incident_id, count(*) from touched t group by 1
  on conflict (incident_id) do update set n = c.n + excluded.n
)`

// countedTouchesSQL keeps the jobs of what is counted for the incidents that are
// not resolved. It is part of the statement that counts, so that it misses
// nothing that comes after [Incident.lookBack].
var countedTouchesSQL = fmt.Sprintf(`unresolved as materialized (
  select i.id, i.opened_at
  from fenceline.incidents i left join fenceline.incident_touches c on c.incident_id = i.id
  where i.state <> 'resolved' and coalesce(c.n, 0) < %d
), parts as materialized (
  select u.id as incident_id, u.opened_at, r.types, r.kind, r.queue, r.job_id, r.fingerprint
  from unresolved u cross join lateral (
    select r.* from fenceline.incidents r where r.id = u.id
    union all
    select r.* from fenceline.incidents r where r.merged_into = u.id
  ) r
), touching as (
  select r.incident_id, b.job_id
  from parts r join measured b on b.minute >= r.opened_at - interval '15 minutes' and `+isEvidenceSQL+`
), `, MaxIncidentJobs) + touchesSQL

// lookBack keeps the jobs of the evidence that was there before the incident was
// opened. Lost leases and refused writes are found by their time; of others the
// newest 100,000 transitions are looked through. No step of counting may fall
// between this and the commit. What was claimed or renewed is taken from then on:
// only counting tells which of it is evidence.
func (i Incident) lookBack(ctx context.Context, tx pgx.Tx, within time.Duration) error {
	if len(i.Types) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock("+rollLock+")"); err != nil {
		return err
	}
	source := `select t.at, t.type, t.kind, t.queue, t.reason, t.job_id, t.detail ->> 'class' as fingerprint, false as marked
    from fenceline.transitions t order by t.xid desc, t.id desc limit $3`
	if lostOnly(i.Types) {
		source = `select t.at, t.type, t.kind, t.queue, t.reason, t.job_id, null::text as fingerprint, false as marked
    from fenceline.transitions t where t.type in ('expired', 'rejected') and t.at >= now() - $2::interval order by t.at desc limit $3`
	}
	_, err := tx.Exec(ctx, `
with looked as materialized (`+source+`
), b as materialized (
  select * from looked l where l.at >= now() - $2::interval
), reach as (
  select case when count(*) < $3 then now() - $2::interval else greatest(min(l.at), now() - $2::interval) end as since from looked l
), parts as materialized (
  select r.* from fenceline.incidents r where r.id = $1
  union all
  select r.* from fenceline.incidents r where r.merged_into = $1
), touching as (
  select distinct $1::bigint as incident_id, b.job_id from b join parts r on `+isEvidenceSQL+` limit $4
), `+touchesSQL+`
update fenceline.incidents i set jobs_since = coalesce(i.jobs_since, reach.since) from reach where i.id = $1`,
		i.ID, within, evidenceBound, MaxIncidentJobs)
	if err != nil {
		return fmt.Errorf("keep the jobs of incident %d: %w", i.ID, err)
	}
	return nil
}

func lostOnly(types []Type) bool {
	for _, t := range types {
		if t != TypeExpired && t != TypeRejected {
			return false
		}
	}
	return true
}

// forgetIncidentJobsSQL removes the jobs of incidents that were resolved long
// ago, with the word that they are kept.
const forgetIncidentJobsSQL = `
with old as (
  select i.id from fenceline.incidents i
  where i.state = 'resolved' and i.resolved_at < now() - $1::interval and i.jobs_since is not null
  order by i.id limit 100 for no key update skip locked
), gone as (
  delete from fenceline.incident_jobs j using (
    select k.incident_id, k.job_id from fenceline.incident_jobs k join old on old.id = k.incident_id limit $2) k
  where (j.incident_id, j.job_id) = (k.incident_id, k.job_id)
  returning 1
), told as (
  update fenceline.incidents i set jobs_since = null from old where i.id = old.id
    and (select count(*) from gone) < $2
  returning i.id
), unnumbered as (
  delete from fenceline.incident_touches c using told where c.incident_id = told.id
)
select from gone`

// countIncidentJobs tells how many jobs of an incident are kept.
func countIncidentJobs(ctx context.Context, tx pgx.Tx, id int64) (c Count, err error) {
	err = tx.QueryRow(ctx, "select coalesce(max(c.n), 0) from fenceline.incident_touches c where c.incident_id = $1", id).Scan(&c.N)
	c.Capped = c.N >= MaxIncidentJobs
	return c, err
}

// JobsSearch finds the jobs that the incident touches; where none are kept, the
// search of its rule, which may be empty.
func (i Incident) JobsSearch() string {
	if i.JobsSince.IsZero() {
		return i.Search
	}
	return fmt.Sprintf("incident:%d", i.ID)
}
