package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// sampled writes the queues down and moves that to a minute.
func (f *fixture) sampled(minute time.Time) {
	f.t.Helper()
	if did, err := f.SampleQueues(f.ctx); err != nil || !did {
		f.t.Fatal(did, err)
	}
	f.exec("update fenceline.queue_minutes set at = at + ($1 - minute), minute = $1", minute)
}

func (f *fixture) pastOf(at time.Time) store.Past {
	f.t.Helper()
	p, err := f.Past(f.ctx, at)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

func TestThePastOfAMinuteIsWhatStoodAndHappenedThen(t *testing.T) {
	f := open(t)
	now := value[time.Time](f, "select date_trunc('minute', now(), 'UTC')").UTC()
	at := now.Add(-3 * time.Hour)
	f.enqueueMany([]store.Request{{Kind: "report"}, {Kind: "report"}, {Kind: "mail", Queue: "mail"}, {Kind: "report", Queue: store.DrillQueue}})
	f.exec("update fenceline.jobs set run_at = now() - interval '90 seconds'")
	f.claim("a")
	f.sampled(at)
	if did, err := f.SampleQueues(f.ctx); err != nil || !did {
		t.Errorf("the present minute: %v %v", did, err)
	}
	if did, err := f.SampleQueues(f.ctx); err != nil || did && value[bool](f, "select date_trunc('minute', now(), 'UTC') = (select max(minute) from fenceline.queue_minutes)") && value[int](f, "select count(distinct minute) from fenceline.queue_minutes") == 2 {
		t.Errorf("written down twice in a minute: %v %v", did, err)
	}
	// What happened in that minute, the one before, and one that is too long ago.
	f.exec(`insert into fenceline.transitions (job_id, at, type, kind, queue)
		select 1, $1::timestamptz + make_interval(secs => e.after), e.type::fenceline.transition_type, 'report', e.queue
		from (values (5, 'completed', 'default'), (6, 'completed', 'default'), (7, 'failed', 'mail'), (59, 'rejected', 'default'), (-20, 'expired', 'default'), (60, 'completed', 'default'), (-3600, 'completed', 'default'), (8, 'completed', 'drill')) e (after, type, queue)`, at)
	look := func(when string) {
		t.Helper()
		p := f.pastOf(at.Add(31 * time.Second))
		if !p.At.Equal(at) || p.Sampled.IsZero() || p.Gone() || len(p.Queues) != 2 || len(p.Trend.Ticks) != 60 {
			t.Fatalf("%s: %+v", when, p)
		}
		d, m := p.Queues[0], p.Queues[1]
		if d.Name != "default" || !d.Known || d.Waiting.N != 1 || d.Running != 1 || d.Completed != 2 || d.Refused != 1 || d.Expired != 0 || d.Oldest < 90*time.Second {
			t.Errorf("%s: %+v", when, d)
		}
		if m.Name != "mail" || m.Waiting.N != 1 || m.Running != 0 || m.Failed != 1 {
			t.Errorf("%s: %+v", when, m)
		}
		if last, before := p.Trend.Ticks[59], p.Trend.Ticks[58]; !last.At.Equal(at) || last.Completed != 2 || before.Expired != 1 || p.Trend.Ticks[0].Completed != 0 {
			t.Errorf("%s: %+v %+v", when, before, last)
		}
	}
	look("read from the log")
	f.rollAll()
	look("counted")
	if p := f.pastOf(at.Add(time.Minute)); !p.Sampled.IsZero() || len(p.Queues) != 1 || p.Queues[0].Known || p.Queues[0].Completed != 1 {
		t.Errorf("nobody looked in that minute: %+v", p)
	}
	if p := f.pastOf(at.Add(-100 * time.Hour)); !p.Gone() || p.Kept.IsZero() || len(p.Queues) != 0 {
		t.Errorf("before all counts: %+v", p)
	}
	var invalid *store.InvalidError
	if _, err := f.Past(f.ctx, time.Now().Add(time.Hour)); !errors.As(err, &invalid) || invalid.Field != "at" {
		t.Error(err)
	}
	f.exec("update fenceline.queue_minutes set minute = minute - interval '40 days'")
	if _, err := f.ForgetRollups(f.ctx, 30*24*time.Hour); err != nil || value[int](f, "select count(*) from fenceline.queue_minutes") != 0 {
		t.Errorf("old ones are kept: %v", err)
	}
}

// Incidents are told by what their entries say of that minute: one that was
// resolved between two openings was not open.
func TestThePastTellsTheIncidentsThatWereOpenThen(t *testing.T) {
	f := open(t)
	now := value[time.Time](f, "select date_trunc('minute', now(), 'UTC')").UTC()
	id := f.watch(time.Hour, spike).Opened[0].ID
	other := spike
	other.Rule = "refused-writes"
	late := f.watch(time.Hour, spike, other).Opened[0].ID
	f.exec("delete from fenceline.incident_entries")
	f.exec(`insert into fenceline.incident_entries (incident_id, revision, at, action, actor, reason)
		select e.id, 1, $1::timestamptz - make_interval(mins => e.ago), e.action, 'x', '' from (values
		  (1, 60, 'opened'), (1, 55, 'acknowledge'), (1, 40, 'resolve'), (1, 20, 'reopened'), (1, 10, 'quiet'), (2, 30, 'opened')) e (id, ago, action)`, now)
	f.exec("update fenceline.incidents set opened_at = $1::timestamptz - case id when 1 then interval '60 minutes' else interval '30 minutes' end", now)
	f.exec("update fenceline.incidents set state = 'resolved', resolved_at = $1::timestamptz - interval '10 minutes', resolved_in = pg_current_snapshot() where id = 1", now)
	for ago, want := range map[int][]int64{61: nil, 50: {id}, 35: nil, 25: {late}, 15: {late, id}, 5: {late}} {
		var got []int64
		for _, i := range f.pastOf(now.Add(-time.Duration(ago) * time.Minute)).Incidents {
			got = append(got, i.ID)
		}
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] || len(got) > 1 && got[1] != want[1] {
			t.Errorf("%d minutes ago: %v, want %v", ago, got, want)
		}
	}
}
