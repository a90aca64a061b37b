package views

import (
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestTheStoryTellsWhoMayFinishTheJob(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		play *play
		want []string
		not  []string
	}{
		"never claimed": {newPlay().at(5 * s), []string{"It waits to be claimed; no attempt has been made yet."}, []string{"Attempt"}},
		"held":          {newPlay().at(s).claim("w").at(3 * s), []string{"Attempt 1 holds this job until 14:02:29 UTC."}, []string{"renewed", "refused"}},
		"held and renewed": {newPlay().at(s).claim("w").at(9 * s).renew().at(10 * s),
			[]string{"Attempt 1 holds this job until 14:02:37 UTC and renewed last at 14:02:07 UTC."}, nil},
		"passed, not swept": {newPlay().at(s).claim("w").at(32 * s),
			[]string{"Attempt 1’s lease passed at 14:02:29 UTC and nobody has taken the job back yet", "without authority"}, []string{"holds this job"}},
		"expired": {newPlay().at(s).claim("w").at(32*s).expire(store.Available, ""),
			[]string{"Attempt 1’s lease ended at 14:02:29 UTC without a renewal.", "waits to be claimed again, with 4 of 5 attempts left."}, nil},
		"the two workers": {twoWorkers(), []string{
			"Attempt 42 holds this job until 14:03:06 UTC and renewed last at 14:02:41 UTC.",
			"Attempt 41’s lease ended at 14:02:29 UTC without another renewal. It came back at 14:02:35 UTC with a result, which was refused (superseded). Nothing of it was stored."}, nil},
		"the second one finished": {twoWorkers().at(50 * s).complete().at(60 * s), []string{
			"Attempt 42’s result was accepted at 14:02:48 UTC.", "Attempt 41 came back at 14:02:35 UTC with a result"}, []string{"holds"}},
		"released": {newPlay().at(s).claim("w").at(2 * s).release(), []string{"Attempt 1 gave the job back at 14:02:00 UTC.", "waits to be claimed again"}, []string{"lease"}},
		"failed, waits": {newPlay().at(s).claim("w").at(2*s).due(time.Minute).fail(store.Retryable, "", "e", "m"),
			[]string{"Attempt 1 failed at 14:02:00 UTC.", "The next try is due at 14:03:00 UTC, with 4 of 5 attempts left."}, nil},
		"one try left": {func() *play {
			p := newPlay()
			p.job.MaxAttempts = 2
			return p.at(s).claim("w").fail(store.Retryable, "", "e", "m")
		}(),
			[]string{", with the last attempt of 2."}, nil},
		"budget spent": {func() *play {
			p := newPlay()
			p.job.MaxAttempts = 1
			return p.at(s).claim("w").at(40*s).expire(store.Discarded, store.ReasonBudgetSpent)
		}(), []string{"Attempt 1’s lease ended", "The job was given up: all 1 attempt of its budget are spent."}, nil},
		"permanent":  {newPlay().claim("w").fail(store.Discarded, store.ReasonPermanent, "e", "m"), []string{"The job was given up: no retry can help."}, nil},
		"unstorable": {newPlay().claim("w").fail(store.Discarded, store.ReasonResultUnstorable, "e", "m"), []string{"given up: its result cannot be stored."}, nil},
		"requeued while held": {newPlay().at(s).claim("w").at(4 * s).requeue("figures corrected"),
			[]string{"local put it back at 14:02:02 UTC: “figures corrected”.", "the next attempt will be 2."}, nil},
		"held after a requeue": {newPlay().at(s).claim("w").at(4 * s).requeue("x").at(5 * s).claim("v"),
			[]string{"Attempt 2 holds", "Attempt 1 lost the job to a requeue at 14:02:02 UTC."}, nil},
		"terminated while held": {newPlay().at(s).claim("w").at(4 * s).terminate("wrong customer"),
			[]string{"local ended this job at 14:02:02 UTC: “wrong customer”.", "Attempt 1 held it then", "effects outside the database may be under way"}, nil},
		"terminated while waiting": {newPlay().at(s).terminate("no"), []string{"local ended this job"}, []string{"held it then"}},
		"a result stays while it runs again": {newPlay().claim("w").complete().at(5 * s).requeue("again").at(6 * s).claim("v"),
			[]string{"Attempt 2 holds", "The stored result is still that of attempt 1, until a new one is accepted."}, nil},
		"worked again after a lost attempt": {newPlay().at(s).claim("w").at(32*s).expire(store.Available, "").at(33 * s).claim("v").at(34 * s).complete(),
			[]string{"Attempt 2 did again what attempt 1 may have done: what the job sent outside may have been delivered twice."}, nil},
		"lost and not claimed again":   {newPlay().at(s).claim("w").at(32*s).expire(store.Available, ""), nil, []string{MaybeTwice}},
		"worked again after a failure": {newPlay().at(s).claim("w").fail(store.Available, "", "e", "m").claim("v").complete(), nil, []string{MaybeTwice}},
		"worked again after a repeat":  {newPlay().at(s).claim("w").complete().requeue("again").claim("v"), nil, []string{MaybeTwice}},
		"taken away and worked again":  {newPlay().at(s).claim("w").requeue("again").claim("v"), []string{"Attempt 2 did again what attempt 1 may have done"}, nil},
		"its log was shortened": {newPlay().at(s).claim("w").at(40*s).expire(store.Available, "").at(50 * s).shorten(),
			[]string{"Attempt 1’s lease ended at 14:02:29 UTC without a renewal.", "The history before 14:02:48 UTC has been removed."}, []string{"no attempt has been made"}},
		"shortened while it ran": {newPlay().at(s).claim("w").at(5 * s).shorten().at(6 * s).renew().at(7 * s),
			[]string{"Attempt 1 holds this job until 14:02:34 UTC and renewed last at 14:02:04 UTC.", "The history before"}, nil},
		"shortened and done again": {newPlay().at(s).claim("w").complete().at(5*s).shorten().requeue("again").claim("v").at(6*s).reject(1, store.OpComplete, store.ReasonSuperseded),
			[]string{"Attempt 2 holds", "The stored result is still that of attempt 1", "Attempt 1 came back at"}, nil},
		"a renewal refused after the result": {twoWorkers().at(40*s).reject(41, store.OpRenew, store.ReasonSuperseded),
			[]string{"It came back at 14:02:35 UTC with a result, which was refused (superseded). Nothing of it was stored. In all, 2 writes"}, []string{"14:02:38"}},
		"many refusals": {manyAttempts(12), []string{"In all, 2 writes of attempts without authority were refused."}, nil},
	} {
		got := StoryText(c.play.view())
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the story is\n  %s\nwithout\n  %s", name, got, want)
			}
		}
		for _, not := range c.not {
			if strings.Contains(got, not) {
				t.Errorf("%s: the story is\n  %s\nwith %q", name, got, not)
			}
		}
	}
}

func TestALongReasonIsToldByItsBeginning(t *testing.T) {
	got := StoryText(newPlay().claim("w").terminate(strings.Repeat("long ", 2000)).view())
	if len(got) > 900 {
		t.Errorf("the story is %d bytes long", len(got))
	}
}

func TestTheAnswerNamesWhatNeedsAPersonFirst(t *testing.T) {
	count := func(n int64) store.Count { return store.Count{N: n} }
	for name, c := range map[string]struct {
		home  store.Home
		title string
		tells string
	}{
		"a stale write was accepted": {store.Home{Verified: store.Verification{N: 9, Open: 1}, Waiting: 3, Running: count(2)}, "A stale attempt changed a result", "fenceline verify"},
		"leases passed":              {store.Home{Lapsed: count(2), Running: count(9)}, "Recovering abandoned work", "2 running jobs have a lease that passed"},
		"jobs wait after expiry": {store.Home{Expired: count(37), Reclaimed: 31, Waiting: 6, Refused: map[store.Reason]int64{store.ReasonSuperseded: 9}, Verified: store.Verification{N: 9}},
			"Recovering abandoned work", "Of 37 leases that expired, 31 jobs are claimed again and 6 wait. 9 late writes were refused; no result was changed by a stale attempt."},
		"refused only":  {store.Home{Refused: map[store.Reason]int64{store.ReasonSuperseded: 1}, Running: count(1)}, "Stale attempts were refused", "1 late write was refused"},
		"running":       {store.Home{Running: count(5)}, "Waiting for legitimate work", "5 jobs run under live leases, 0 wait"},
		"nobody claims": {store.Home{States: map[store.State]store.Count{store.Available: count(7)}}, "Work waits and nobody takes it", "is a worker up"},
		"quiet":         {store.Home{}, "Nothing to wait for", "No job runs"},
	} {
		a := NewAnswer(c.home)
		var b strings.Builder
		for _, p := range a.Detail {
			b.WriteString(p.Text)
		}
		if a.Title != c.title || !strings.Contains(b.String(), c.tells) {
			t.Errorf("%s: the answer is %q: %s", name, a.Title, b.String())
		}
	}
}
