package notice

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
)

// Message is what a target of the format [JSON] gets.
type Message struct {
	Source    string     `json:"source"` // where the console is; "fenceline" where that is not configured
	At        time.Time  `json:"at"`     // by the database's clock
	Test      bool       `json:"test"`   // a person tried whether messages arrive
	Incidents []Incident `json:"incidents"`
}

// Incident is what a [Message] tells of one incident.
type Incident struct {
	ID         string  `json:"id"`
	State      string  `json:"state"` // open, acknowledged or resolved
	Was        *string `json:"was"`   // the state that was told before; null for a new one
	Severity   string  `json:"severity"`
	Rule       string  `json:"rule"`
	Title      string  `json:"title"`
	Scope      string  `json:"scope"` // empty for everything
	What       string  `json:"what"`
	Means      string  `json:"means"`
	Do         string  `json:"do"`
	Owner      *string `json:"owner"`
	MergedInto *string `json:"merged_into"`
	OpenedAt   string  `json:"opened_at"`
	URL        *string `json:"url"`
}

func (r Rule) body(at time.Time, all []store.Notice, console string) (json.RawMessage, error) {
	switch r.Format {
	case Slack:
		return json.Marshal(map[string]string{"text": slackText(all, console)})
	case PagerDuty:
		return json.Marshal(eventOf(all[0], console))
	}
	m := Message{Source: source(console), At: at, Incidents: []Incident{}}
	for _, n := range all {
		m.Incidents = append(m.Incidents, incidentOf(n, console))
	}
	return json.Marshal(m)
}

// Test is a message in the rule's format by which a person tries whether
// messages arrive.
func (r Rule) Test(at time.Time, console, actor string) (json.RawMessage, error) {
	words := "A test by " + actor + ": Fenceline tells this target of incidents."
	switch r.Format {
	case Slack:
		return json.Marshal(map[string]string{"text": escaped(words)})
	case PagerDuty:
		e := event{Action: "trigger", Key: source(console) + " test", Client: "Fenceline", ClientURL: console}
		e.Payload = &eventPayload{Summary: words, Source: source(console), Severity: "info", At: at.UTC().Format(time.RFC3339)}
		return json.Marshal(e)
	}
	return json.Marshal(Message{Source: source(console), At: at.UTC(), Test: true, Incidents: []Incident{}})
}

func source(console string) string {
	if console == "" {
		return "fenceline"
	}
	return console
}

func address(id int64, console string) string {
	if console == "" {
		return ""
	}
	return fmt.Sprintf("%s/incidents/%d", console, id)
}

func title(i store.Incident) string {
	if rule, ok := detect.Find(i.Rule); ok {
		return rule.Title
	}
	return i.Rule
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func incidentOf(n store.Notice, console string) Incident {
	i := n.Incident
	rule, _ := detect.Find(i.Rule)
	out := Incident{ID: fmt.Sprint(i.ID), State: string(i.State), Was: orNull(string(n.Was)), Severity: i.Severity, Rule: i.Rule, Title: title(i), Scope: i.Scope,
		What: i.What, Means: rule.Means, Do: rule.Do, OpenedAt: i.OpenedAt.UTC().Format(time.RFC3339Nano), URL: orNull(address(i.ID, console))}
	if i.State == store.IncidentAcknowledged {
		out.Owner = orNull(i.Owner)
	}
	if i.MergedInto != 0 {
		out.MergedInto = orNull(fmt.Sprint(i.MergedInto))
	}
	return out
}

// stateWords says what became of an incident.
func stateWords(n store.Notice) string {
	i := n.Incident
	switch {
	case i.MergedInto != 0:
		return fmt.Sprintf("part of incident %d now", i.MergedInto)
	case i.State == store.IncidentAcknowledged:
		return "acknowledged by " + i.Owner
	case i.State == store.IncidentOpen && i.Reopened > 0:
		return "open again"
	}
	return string(i.State)
}

// slackText is one paragraph for each incident. Slack takes <, > and & for its
// own marks, which is all that has to be escaped.
func slackText(all []store.Notice, console string) string {
	var b strings.Builder
	for n, told := range all {
		if n > 0 {
			b.WriteString("\n")
		}
		i := told.Incident
		name := fmt.Sprintf("Incident %d", i.ID)
		if at := address(i.ID, console); at != "" {
			name = "<" + at + "|" + name + ">"
		}
		fmt.Fprintf(&b, "%s, %s, *%s*: %s", name, escaped(i.Severity), escaped(stateWords(told)), escaped(title(i)+". "+i.What))
		if rule, ok := detect.Find(i.Rule); ok && told.Was == "" {
			b.WriteString(" " + escaped(rule.Do))
		}
	}
	return b.String()
}

func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\n", " ").Replace(s)
}

// event is one of PagerDuty's Events API v2. The routing key is put in at the
// delivery, by the target's fields.
type event struct {
	Action    string        `json:"event_action"`
	Key       string        `json:"dedup_key"`
	Payload   *eventPayload `json:"payload,omitempty"`
	Links     []eventLink   `json:"links,omitempty"`
	Client    string        `json:"client"`
	ClientURL string        `json:"client_url,omitempty"`
}

type eventPayload struct {
	Summary   string            `json:"summary"`
	Source    string            `json:"source"`
	Severity  string            `json:"severity"`
	At        string            `json:"timestamp"`
	Component string            `json:"component,omitempty"`
	Group     string            `json:"group,omitempty"`
	Details   map[string]string `json:"custom_details,omitempty"`
}

type eventLink struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

var eventActions = map[store.IncidentState]string{store.IncidentOpen: "trigger", store.IncidentAcknowledged: "acknowledge", store.IncidentResolved: "resolve"}

var eventSeverities = map[string]string{string(detect.High): "critical", string(detect.Medium): "error", string(detect.Low): "warning"}

const maxSummary = 1024 // characters, of PagerDuty

func eventOf(n store.Notice, console string) event {
	i := n.Incident
	e := event{Action: eventActions[i.State], Key: fmt.Sprintf("%s incident %d", source(console), i.ID), Client: "Fenceline", ClientURL: console}
	if i.State == store.IncidentResolved {
		return e
	}
	rule, _ := detect.Find(i.Rule)
	summary := []rune(title(i) + ". " + i.What)
	if len(summary) > maxSummary {
		summary = append(summary[:maxSummary-1], '…')
	}
	e.Payload = &eventPayload{Summary: string(summary), Source: source(console), Severity: eventSeverities[i.Severity], At: i.OpenedAt.UTC().Format(time.RFC3339),
		Component: i.Scope, Group: i.Rule, Details: map[string]string{"means": rule.Means, "do": rule.Do}}
	if at := address(i.ID, console); at != "" {
		e.Links = []eventLink{{at, fmt.Sprintf("Incident %d", i.ID)}}
	}
	return e
}
