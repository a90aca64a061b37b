// Package notice says who is told of incidents, when, and in which words. What a
// target is told goes by what it knows, see [store.Store.Tell]: nothing is lost
// while nobody looks, and what came and went in the quiet hours is not told at
// all. A message names an incident and its numbers and no payload, result, or
// error text.
package notice

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
)

// Format is the shape of a message.
type Format string

// The formats.
const (
	JSON      Format = "json"      // see [Message]
	Slack     Format = "slack"     // what Slack's incoming webhooks and their likes take
	PagerDuty Format = "pagerduty" // an event of PagerDuty's Events API v2, one for each incident
)

const (
	defaultEvery = time.Minute
	maxEvery     = 24 * time.Hour
	mostTold     = 50 // incidents in one message
)

// Rule says what one target is told.
type Rule struct {
	Target   string          // whose address and secrets the workers' configuration holds
	Format   Format          // JSON when empty
	Severity detect.Severity // of the incidents that it is told of, at least; medium when empty
	Every    time.Duration   // at most one message within so long; a minute when 0, not for PagerDuty, which groups by itself
	Quiet    *Hours          // when it is told of less; nil: never
}

// Hours are a part of each day.
type Hours struct {
	From, To time.Duration // since midnight; To may be before From: then they go over midnight
	Zone     *time.Location
	Severity detect.Severity // what is told nevertheless, at least; high when empty
}

// Fields that a rule may be read from, as in a file of JSON.
type ruleJSON struct {
	Target   string     `json:"target"`
	Format   Format     `json:"format"`
	Severity string     `json:"severity"`
	Every    string     `json:"every"`
	Quiet    *hoursJSON `json:"quiet"`
}

type hoursJSON struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Zone     string `json:"zone"`
	Severity string `json:"severity"`
}

// Parse reads a rule from JSON: {"target": NAME, "format": "json", "severity":
// "medium", "every": "1m", "quiet": {"from": "22:00", "to": "07:00", "zone":
// "Europe/Berlin", "severity": "high"}}, of which all but the target may be left
// out. A bad field is refused with a *[store.InvalidError] that names it.
func Parse(raw json.RawMessage) (r Rule, err error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	var j ruleJSON
	if err := dec.Decode(&j); err != nil {
		var typed *json.UnmarshalTypeError
		if errors.As(err, &typed) {
			return Rule{}, &store.InvalidError{Field: typed.Field, Message: "must not be a JSON " + typed.Value}
		}
		return Rule{}, &store.InvalidError{Message: strings.TrimPrefix(err.Error(), "json: ")}
	}
	r = Rule{Target: j.Target, Format: j.Format}
	if r.Target == "" {
		return Rule{}, &store.InvalidError{Field: "target", Message: "is required"}
	}
	switch r.Format {
	case "":
		r.Format = JSON
	case JSON, Slack, PagerDuty:
	default:
		return Rule{}, &store.InvalidError{Field: "format", Message: "must be json, slack or pagerduty"}
	}
	if r.Severity, err = severity("severity", j.Severity, detect.Medium); err != nil {
		return Rule{}, err
	}
	switch r.Every, err = time.ParseDuration(j.Every); {
	case j.Every == "" && r.Format == PagerDuty:
	case j.Every == "":
		r.Every = defaultEvery
	case err != nil || r.Every < 0 || r.Every > maxEvery:
		return Rule{}, &store.InvalidError{Field: "every", Message: "must be a length of time up to 24h, as 5m"}
	}
	if j.Quiet != nil {
		if r.Quiet, err = j.Quiet.hours(); err != nil {
			return Rule{}, err
		}
	}
	return r, nil
}

func (j hoursJSON) hours() (*Hours, error) {
	h := &Hours{}
	for _, end := range []struct {
		field, text string
		to          *time.Duration
	}{{"quiet.from", j.From, &h.From}, {"quiet.to", j.To, &h.To}} {
		at, err := time.Parse("15:04", end.text)
		if err != nil {
			return nil, &store.InvalidError{Field: end.field, Message: "must be a time of day, as 22:00"}
		}
		*end.to = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	if h.From == h.To {
		return nil, &store.InvalidError{Field: "quiet.to", Message: "must differ from quiet.from"}
	}
	var err error
	if h.Zone, err = time.LoadLocation(j.Zone); err != nil || j.Zone == "Local" {
		return nil, &store.InvalidError{Field: "quiet.zone", Message: "must be a time zone that is known here, as Europe/Berlin; empty means UTC"}
	}
	h.Severity, err = severity("quiet.severity", j.Severity, detect.High)
	return h, err
}

func severity(field, text string, otherwise detect.Severity) (detect.Severity, error) {
	switch s := detect.Severity(text); s {
	case "":
		return otherwise, nil
	case detect.Low, detect.Medium, detect.High:
		return s, nil
	}
	return "", &store.InvalidError{Field: field, Message: "must be low, medium or high"}
}

// Holds reports whether a moment is in the hours.
func (h *Hours) Holds(at time.Time) bool {
	if h == nil {
		return false
	}
	at = at.In(h.Zone)
	day := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	if h.From < h.To {
		return h.From <= day && day < h.To
	}
	return h.From <= day || day < h.To
}

// Clock returns both ends as times of day, such as 22:00.
func (h *Hours) Clock() (from, to string) {
	clock := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60) }
	return clock(h.From), clock(h.To)
}

// String says them as "22:00 to 07:00 UTC".
func (h *Hours) String() string {
	from, to := h.Clock()
	return from + " to " + to + " " + h.Zone.String()
}

// Least is the least severity that is told of at a moment.
func (r Rule) Least(at time.Time) detect.Severity {
	if r.Quiet.Holds(at) && rank(r.Quiet.Severity) > rank(r.Severity) {
		return r.Quiet.Severity
	}
	return r.Severity
}

var ranks = []detect.Severity{detect.Low, detect.Medium, detect.High}

func rank(s detect.Severity) int { return slices.Index(ranks, s) }

// At is the rule as the store wants it at a moment; console is where people reach
// the console, or empty.
func (r Rule) At(now time.Time, console string) store.NoticeRule {
	out := store.NoticeRule{Target: r.Target, Every: r.Every, Most: mostTold, Body: func(at time.Time, all []store.Notice) (json.RawMessage, error) {
		return r.body(at, all, console)
	}}
	if r.Format == PagerDuty {
		// It ignores the acknowledgement of what it was never told to be open.
		out.Most, out.OpenFirst = 1, true
	}
	for _, s := range ranks[rank(r.Least(now)):] {
		out.Severities = append(out.Severities, string(s))
	}
	return out
}
