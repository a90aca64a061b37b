package views

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func chartOf(p *play) Chart { return NewChart(p.view(), ChartOptions{}) }

func TestTheStoryOfTwoWorkersIsDrawn(t *testing.T) {
	c := chartOf(twoWorkers())
	if len(c.Lanes) != 2 {
		t.Fatalf("got %d lanes, want 2", len(c.Lanes))
	}
	a, b := c.Lanes[0], c.Lanes[1]
	if len(a.Diamonds) != 1 || len(b.Diamonds) != 0 {
		t.Fatalf("got %d and %d diamonds: the refused write belongs to the old attempt's lane", len(a.Diamonds), len(b.Diamonds))
	}
	if math.Abs(a.Hatch.X-a.Held.end()) > 0.01 || math.Abs(a.Hatch.end()-a.Diamonds[0].X) > 0.01 {
		t.Errorf("the band without authority is from %.1f to %.1f, want from the lease's end %.1f to the refusal %.1f",
			a.Hatch.X, a.Hatch.end(), a.Held.end(), a.Diamonds[0].X)
	}
	if b.Hatch.W != 0 || b.Ahead.W <= 0 {
		t.Errorf("the holder's lane has a band of %.1f and %.1f of lease ahead", b.Hatch.W, b.Ahead.W)
	}
	if len(c.Gaps) != 1 || c.Gaps[0].Label.Text != "unowned 1.0 s" {
		t.Errorf("the gap is %+v", c.Gaps)
	}
	if c.Now < b.Held.X || c.Now > b.Ahead.end() || c.PerSecond <= 0 {
		t.Errorf("now is at %.1f and moves %.2f a second", c.Now, c.PerSecond)
	}
	if !hasLabel(a, "complete refused · superseded") {
		t.Errorf("the refusal is not named: %+v", a.Labels)
	}
	if late := a.Labels[1].After; !strings.HasPrefix(late, ", 5.2 s late, generation 41 offered") {
		t.Errorf("how late the refused write came is told as %q", late)
	}
}

func TestAnAttemptSaysHowLongItHeldItsJob(t *testing.T) {
	ended := chartOf(manyAttempts(3)).Lanes
	if !slices.ContainsFunc(ended, func(l laneShape) bool { return hasLabel(l, "failed after 20 s") }) {
		t.Errorf("no attempt that failed says after what time: %+v", ended)
	}
}

func hasLabel(l laneShape, text string) bool {
	for _, t := range l.Labels {
		if strings.Contains(t.Text, text) {
			return true
		}
	}
	return false
}

func TestNothingIsDrawnOutsideTheDrawing(t *testing.T) {
	for name, p := range map[string]*play{
		"two workers": twoWorkers(), "50 attempts": manyAttempts(50), "5000 renewals": manyRenewals(5000),
		"operators": operators(), "hours apart": hoursApart(), "one moment": newPlay().claim("w"),
		"expired": newPlay().at(time.Second).claim("w").at(time.Hour), "waiting": newPlay().at(24 * time.Hour),
	} {
		for _, o := range []ChartOptions{{}, {Full: true}, {Zoom: 1}, {Zoom: 42}, {Zoom: 999}} {
			c := NewChart(p.view(), o)
			for _, x := range xs(c) {
				if math.IsNaN(x) || x < 0 || x > chartWidth {
					t.Errorf("%s %+v: something is drawn at %.1f", name, o, x)
				}
			}
			if c.Height < c.NowLabel || c.Height > 12000 {
				t.Errorf("%s %+v: the drawing is %.0f high", name, o, c.Height)
			}
		}
	}
}

// xs lists where things of a chart begin and end.
func xs(c Chart) []float64 {
	var out []float64
	for _, l := range c.Lanes {
		out = append(out, l.Held.X, l.Held.end(), l.Ahead.end(), l.Hatch.end())
		out = append(out, l.Ticks...)
		for _, s := range l.Strip {
			out = append(out, s.X, s.end())
		}
		for _, d := range l.Diamonds {
			out = append(out, d.X)
		}
		for _, t := range l.Labels {
			out = append(out, labelEnds(t)...)
		}
	}
	for _, f := range c.Flags {
		out = append(out, f.X)
	}
	for _, g := range c.Gaps {
		out = append(out, g.X0, g.X1)
	}
	return out
}

func labelEnds(t label) []float64 {
	width := textWidth(t.Text + t.After)
	if !t.At.IsZero() {
		width += 8 * runeWidth
	}
	switch t.Anchor {
	case "end":
		return []float64{t.X - width, t.X}
	case "middle":
		return []float64{t.X - width/2, t.X + width/2}
	}
	return []float64{t.X, t.X + width}
}

func TestManyAttemptsAreFoldedAndAllOfThemCanBeHad(t *testing.T) {
	v := manyAttempts(50).view()
	c := NewChart(v, ChartOptions{})
	if len(c.Lanes) != newestLanes || len(c.Hidden) != 50-newestLanes || c.Lanes[len(c.Lanes)-1].Generation != 50 {
		t.Errorf("%d lanes are drawn and %d left out, the last is %d", len(c.Lanes), len(c.Hidden), c.Lanes[len(c.Lanes)-1].Generation)
	}
	if !strings.Contains(hiddenText(c.Hidden), "38 earlier attempts not drawn, with 6 refused writes") {
		t.Errorf("what is left out is told as %q", hiddenText(c.Hidden))
	}
	if full := NewChart(v, ChartOptions{Full: true}); len(full.Lanes) != 50 {
		t.Errorf("%d lanes are drawn when all are asked for", len(full.Lanes))
	}
}

func TestZoomShowsOneAttemptAlone(t *testing.T) {
	c := NewChart(manyAttempts(50).view(), ChartOptions{Zoom: 7})
	if len(c.Lanes) != 1 || c.Lanes[0].Generation != 7 {
		t.Fatalf("got %d lanes", len(c.Lanes))
	}
	if w := c.Lanes[0].Held.W; w < (plotRight-plotLeft)*0.8 {
		t.Errorf("the attempt takes %.0f px of the axis", w)
	}
}

func TestFiveThousandRenewalsBecomeALineThatBreaksWhereTheyPaused(t *testing.T) {
	l := chartOf(manyRenewals(5000)).Lanes[0]
	if len(l.Ticks) != 0 || len(l.Strip) == 0 || len(l.Strip) > 400 {
		t.Fatalf("got %d ticks and %d strips", len(l.Ticks), len(l.Strip))
	}
	if !strings.Contains(l.Inside, "renewed ×5,000") {
		t.Errorf("the lane says %q", l.Inside)
	}
	p := newPlay()
	p.lease = 10 * time.Minute
	p.at(time.Second).claim("w")
	for i := range 200 {
		pause := time.Duration(0)
		if i >= 100 {
			pause = 5 * time.Minute
		}
		p.at(2*time.Second + time.Duration(i)*2*time.Second + pause).renew()
	}
	if strips := chartOf(p).Lanes[0].Strip; len(strips) != 2 {
		t.Errorf("renewals that paused once are %d lines, want 2", len(strips))
	}
}

func TestTheShortestLeaseCanBeSeenBesideTheLongest(t *testing.T) {
	p := newPlay()
	p.at(time.Second).claim("a").at(2 * time.Hour).release()
	p.at(2*time.Hour+time.Second).claim("b").at(2*time.Hour+time.Second+3*time.Millisecond).fail(store.Retryable, "", "x", "y")
	l := chartOf(p).Lanes[1]
	if l.Held.W < thinnest {
		t.Errorf("it is %.2f px wide", l.Held.W)
	}
}

func TestRefusalsThatLieCloseAreOneDiamondWithTheirNumber(t *testing.T) {
	p := twoWorkers()
	for range 30 {
		p.reject(41, store.OpRenew, store.ReasonSuperseded)
	}
	d := chartOf(p).Lanes[0].Diamonds
	if len(d) != 2 || len(d[1].Refused) != 30 {
		t.Fatalf("got %d diamonds", len(d))
	}
	if lines := strings.Count(d[1].Title(), "\n") + 1; lines != 8 || !strings.Contains(d[1].Title(), "and 23 more") {
		t.Errorf("its title has %d lines: %s", lines, d[1].Title())
	}
}

func TestAnAttemptWhoseClaimIsNotInTheLogStillShowsItsRefusal(t *testing.T) {
	p := twoWorkers()
	v := p.view()
	v.Transitions = v.Transitions[4:]
	v.History = store.Fold(v.Transitions)
	c := NewChart(v, ChartOptions{})
	found := false
	for _, l := range c.Lanes {
		if l.Generation == 41 {
			found = len(l.Diamonds) == 1 && l.Held.W == 0 && l.Hatch.W == 0
		}
	}
	if !found {
		t.Errorf("lanes are %+v", c.Lanes)
	}
}

func TestOperatorsActionsAreFlagsAcrossTheLanes(t *testing.T) {
	c := chartOf(operators())
	if len(c.Flags) != 2 || c.Flags[0].Text != "requeued · local" || c.Flags[1].Text != "terminated · local" {
		t.Fatalf("flags are %+v", c.Flags)
	}
	if h := c.Lanes[1].Hatch; h.W <= 0 || !c.Lanes[1].HatchOpen {
		t.Error("the attempt that was cut off may still run, and that is not drawn")
	}
	if c.Now >= 0 {
		t.Error("a job that ended has no now on its axis")
	}
	p := newPlay()
	for range 40 {
		p.claim("w").requeue("again")
	}
	if flags := chartOf(p).Flags; len(flags) != 1 || flags[0].Text != "40 actions" {
		t.Errorf("40 actions at once are %d flags", len(flags))
	}
}

func TestAnAttemptThatEndedItselfHasNoBandWithoutAuthority(t *testing.T) {
	for name, p := range map[string]*play{
		"completed": newPlay().at(time.Second).claim("w").at(5 * time.Second).complete().at(time.Hour),
		"released":  newPlay().at(time.Second).claim("w").at(5 * time.Second).release().at(time.Hour),
		"failed":    newPlay().at(time.Second).claim("w").at(5*time.Second).fail(store.Discarded, store.ReasonPermanent, "x", "y").at(time.Hour),
	} {
		if h := chartOf(p).Lanes[0].Hatch; h.W != 0 {
			t.Errorf("%s: the band is %.1f px wide", name, h.W)
		}
	}
}

func TestALeaseThatPassedUnsweptIsHatchedUntilNow(t *testing.T) {
	c := chartOf(newPlay().at(time.Second).claim("w").at(45 * time.Second))
	l := c.Lanes[0]
	if math.Abs(l.Hatch.end()-c.Now) > 0.5 || l.Ahead.W != 0 {
		t.Errorf("the band ends at %.1f, now is %.1f, ahead is %.1f", l.Hatch.end(), c.Now, l.Ahead.W)
	}
}
