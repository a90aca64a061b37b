package views

import (
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestChartsAndTheirTableSayTheSameAndLeadToTheJobs(t *testing.T) {
	trend := sampleTrend()
	refusals := trendLines[4]
	if got := strings.Count(refusals.bars(trend), "M"); got != 5 {
		t.Errorf("%d bars for 5 minutes with refusals", got)
	}
	if got, want := refusals.said(trend), "Refusals by the minute: 15 within the hour, most at 14:05 UTC: 5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := refusals.change(trend), "up from 0 in the 15 minutes before"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	trend.Ticks[len(trend.Ticks)-20].Refused = 99
	if got := refusals.change(trend); got != "down from 99 in the 15 minutes before" {
		t.Error(got)
	}
	page := render(t, samplePages()["home"])
	for _, want := range []string{
		"/ops/jobs?q=late%3A" + strings.ReplaceAll(sampleNow.Truncate(time.Minute).UTC().Format("2006-01-02T15:04Z"), ":", "%3A"),
		"/ops/jobs?q=lost%3A%3E-15m+-queue%3Adrill\"", "lost%3A%3E-15m+state%3Aavailable%2Cretryable%2Cscheduled", "37 provisional", "worker-a2-91-d0c4f7a1",
		"transitions checked in the log", ">behind<",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	for _, l := range trendLines {
		if l.said(store.Trend{}) != l.Name+": none within the hour" || l.bars(store.Trend{}) != "" || l.change(store.Trend{}) != "" {
			t.Errorf("%s of nothing: %q %q %q", l.Name, l.said(store.Trend{}), l.bars(store.Trend{}), l.change(store.Trend{}))
		}
	}
}
