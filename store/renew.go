package store

import (
	"context"
	"time"
)

// Renewal asks for a later deadline.
type Renewal struct {
	Lease Lease
	For   time.Duration // from the moment the row is locked, on the database's clock
}

// Under the guard: a new deadline, and nothing else of the row.
const renewSQL = guard + `
, changed as (
  update fenceline.jobs j
  set lease_until = v.at + ($6::bigint[])[v.n] * interval '1 microsecond'
  from verdict v
  where v.verdict = 'accepted' and j.id = v.id
), logged as (
  insert into fenceline.transitions
    (job_id, at, generation, lease_until, attempt_id, type, kind, queue, worker)
  select v.id, v.at, v.generation, v.at + ($6::bigint[])[v.n] * interval '1 microsecond', v.attempt_id,
         'renewed', v.kind, v.queue, $5
  from verdict v
  where v.verdict = 'accepted'
)
select v.n, v.verdict, v.current, v.state::text,
       case when v.verdict = 'accepted' then v.at + ($6::bigint[])[v.n] * interval '1 microsecond' end,
       ` + notified + `
from verdict v`

// Renew moves deadlines, under the guard; it never revives a lease whose
// deadline has passed. Each refusal is recorded and returned as a *[StaleError]
// in its outcome. The new deadline is in the outcome's lease. It uses
// connections of its own, so that nothing else can hold a renewal up. An error
// means that the whole batch changed nothing, or that its answer was lost; it
// may then be offered again.
func (s *Store) Renew(ctx context.Context, worker string, batch []Renewal) ([]Outcome, error) {
	if len(batch) == 0 {
		return nil, nil
	}
	o := newOffer(OpRenew, worker, len(batch), func(i int) Lease { return batch[i].Lease })
	lengths := make([]int64, len(o.leases))
	for place, i := range o.first() {
		lengths[place] = batch[i].For.Microseconds()
	}
	return o.run(ctx, s.renewals, renewSQL, lengths)
}
