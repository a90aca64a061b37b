package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// MaxIncidentJobs is how many jobs of an incident are kept.
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

// touchedSQL keeps the jobs of what is counted for the incidents that are not
// resolved. It is part of the statement that counts, so that it misses nothing
// that comes after [Incident.lookBack].
const touchedSQL = `
  insert into fenceline.incident_jobs (incident_id, job_id)
  select distinct i.id, b.job_id
  from measured b
  join fenceline.incidents r on ` + isEvidenceSQL + `
  join fenceline.incidents i on i.id = coalesce(r.merged_into, r.id) and i.state <> 'resolved'
  where b.minute >= i.opened_at - interval '15 minutes'
    and not exists (select from fenceline.incident_jobs k where k.incident_id = i.id offset 99999)
  on conflict do nothing`

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
), kept as (
  insert into fenceline.incident_jobs (incident_id, job_id)
  select distinct $1::bigint, b.job_id from b join fenceline.incidents r on (r.id = $1 or r.merged_into = $1) and `+isEvidenceSQL+`
  limit $4
  on conflict do nothing
)
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
)
select from gone`

// countIncidentJobs tells how many jobs of an incident are kept.
func countIncidentJobs(ctx context.Context, tx pgx.Tx, id int64) (c Count, err error) {
	err = tx.QueryRow(ctx, "select count(*) from (select from fenceline.incident_jobs k where k.incident_id = $1 limit $2) k", id, MaxIncidentJobs).Scan(&c.N)
	c.Capped = c.N == MaxIncidentJobs
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
