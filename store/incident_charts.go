package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxChartTicks is how many steps a chart of a report has at most.
const maxChartTicks = 120

// chartSteps are the lengths that a step of a chart can have, up to a day; beyond
// that it is a number of days.
var chartSteps = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour}

// chartStep is the shortest step with which a stretch of time has at most
// [maxChartTicks] of them.
func chartStep(length time.Duration) time.Duration {
	for _, step := range chartSteps {
		if length < maxChartTicks*step {
			return step
		}
	}
	const day = 24 * time.Hour
	return (length/(maxChartTicks*day) + 1) * day
}

// The same columns as those of a minute; what is not told of it is empty.
const chartSQL = `
select date_bin($5::interval, r.minute, $1::timestamptz), '', '', r.type::text, '', sum(r.n)::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint
from fenceline.rollups r
where r.minute between $1 and $2 and r.queue <> $6 and r.type in ('claimed', 'completed', 'failed', 'expired', 'rejected')
  and exists (select from unnest($3::text[], $4::text[]) p (kind, queue) where (p.kind = '' or r.kind = p.kind) and (p.queue = '' or r.queue = p.queue))
group by 1, 4 order by 1, 4`

// readCharts tells what happened around the incident, in the kinds and queues of
// its evidence and of those that are part of it: from before it was opened until
// after it was resolved. What is not counted yet is read from the log.
func (r *IncidentReport) readCharts(ctx context.Context, tx pgx.Tx) error {
	m := Minutes{Now: r.Now, From: r.Incident.OpenedAt.Add(-evidenceBefore).Truncate(time.Minute), until: r.end().Add(evidenceBefore)}
	if m.until.After(r.Now) {
		m.until = r.Now
	}
	step := chartStep(m.until.Sub(m.From))
	var kinds, queues []string
	for _, i := range append(slices.Clone(r.Merged), r.Incident) {
		kinds, queues = append(kinds, i.Kind), append(queues, i.Queue)
	}
	if err := m.gather(ctx, tx, map[Minute]int{}, chartSQL, m.From, m.until, kinds, queues, step, DrillQueue); err != nil {
		return err
	}
	counted := len(m.Rows)
	at, err := rollPosition(ctx, tx)
	if err == nil {
		err = m.provisional(ctx, tx, map[Minute]int{}, at)
	}
	covers := func(row Minute) bool {
		for i := range kinds {
			if (kinds[i] == "" || kinds[i] == row.Kind) && (queues[i] == "" || queues[i] == row.Queue) {
				return true
			}
		}
		return false
	}
	n := 0
	m.Rows = slices.DeleteFunc(m.Rows, func(row Minute) bool { n++; return n > counted && !covers(row) })
	r.Trend = newTrend(m, step)
	return err
}
