package views

import (
	"math"
	"testing"
	"time"
)

var origin = time.Date(2026, 11, 3, 14, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return origin.Add(d) }

func spans(ds ...time.Duration) []period {
	var out []period
	for i := 0; i < len(ds); i += 2 {
		out = append(out, period{after(ds[i]), after(ds[i+1])})
	}
	return out
}

func TestAScaleIsLinearWhereTimesAreClose(t *testing.T) {
	s := newScale(spans(0, 30*time.Second, 31*time.Second, 40*time.Second), 100, 500)
	if len(s.pieces) != 1 || len(s.folds) != 0 {
		t.Fatalf("got %d pieces and %d folds, want one piece", len(s.pieces), len(s.folds))
	}
	for d, want := range map[time.Duration]float64{0: 100, 20 * time.Second: 300, 40 * time.Second: 500} {
		if got := s.x(after(d)); math.Abs(got-want) > 0.01 {
			t.Errorf("x of %s is %.2f, want %.2f", d, got, want)
		}
	}
}

func TestLongIdleIsFoldedAndWhatHappenedKeepsItsRoom(t *testing.T) {
	s := newScale(spans(0, 30*time.Second, 5*time.Hour, 5*time.Hour+30*time.Second), 0, 1000)
	if len(s.folds) != 1 {
		t.Fatalf("got %d folds, want 1", len(s.folds))
	}
	if w := s.pieces[0].x1 - s.pieces[0].x0; w < 400 {
		t.Errorf("30 s before the fold are %.0f px wide, want most of their half", w)
	}
	if w := s.folds[0].x1 - s.folds[0].x0; w != foldWidth {
		t.Errorf("the fold is %.0f px wide, want %.0f", w, foldWidth)
	}
}

func TestTimeNeverRunsBackwardsOnTheAxis(t *testing.T) {
	var busy []period
	at := time.Duration(0)
	for i := range 200 {
		length := time.Duration(i*i) * time.Millisecond
		busy = append(busy, period{after(at), after(at + length)})
		at += length + time.Duration(i%7)*time.Hour
	}
	s := newScale(busy, 172, 1224)
	last := 0.0
	for d := time.Duration(0); d < at; d += at / 5000 {
		x := s.x(after(d))
		if x < last || x < 172 || x > 1224.001 {
			t.Fatalf("x of %s is %.3f after %.3f", d, x, last)
		}
		last = x
	}
}

func TestAnAxisOfOnePointHasAPlace(t *testing.T) {
	s := newScale(spans(0, 0), 100, 500)
	if x := s.x(origin); x < 100 || x > 500 || math.IsNaN(x) {
		t.Errorf("x is %v", x)
	}
	if x := (scale{}).x(origin); x != 0 {
		t.Errorf("x on no axis is %v", x)
	}
}

func TestTicksAreRoundAndTheirLabelsKeepApart(t *testing.T) {
	for _, length := range []time.Duration{time.Millisecond, 40 * time.Millisecond, time.Second, 45 * time.Second,
		20 * time.Minute, 7 * time.Hour, 60 * time.Hour, 400 * 24 * time.Hour, 20 * 365 * 24 * time.Hour} {
		ticks := axisTicks(newScale(spans(0, length), plotLeft, plotRight))
		labels, end := 0, 0.0
		for _, tick := range ticks {
			if !tick.Labeled {
				continue
			}
			if tick.left() < end {
				t.Errorf("over %s the label %q begins at %.0f, inside the one before", length, tick.Label, tick.left())
			}
			labels, end = labels+1, tick.left()+textWidth(tick.Label)
		}
		if labels < 1 || labels > 14 {
			t.Errorf("over %s there are %d labels", length, labels)
		}
		if end > plotRight+1 {
			t.Errorf("over %s the last label ends at %.0f, outside the drawing", length, end)
		}
	}
}

func TestTicksOfSeveralDaysNameTheDay(t *testing.T) {
	ticks := axisTicks(newScale(spans(0, 30*time.Second, 30*time.Hour, 30*time.Hour+30*time.Second), plotLeft, plotRight))
	days := map[string]bool{}
	for _, tick := range ticks {
		if tick.Show == "dm" {
			days[tick.Label[:5]] = true
		}
	}
	if !days["Nov 3"] || !days["Nov 4"] {
		t.Errorf("the days named are %v, want both", days)
	}
}
