package views

import (
	"context"
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/fenceline/fenceline/static"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
	"github.com/fenceline/fenceline/store/notice"
	"github.com/fenceline/fenceline/store/search"
)

var gallery = flag.String("gallery", "", "write every sample page into this directory, to look at them")

// samplePages renders what a reader can meet, the pleasant and the ugly.
func samplePages() map[string]templ.Component {
	return map[string]templ.Component{
		"home":               Home(HomePage{frame(TopicHome), sampleHome()}),
		"verification":       Verification(VerificationPage{frame(TopicVerification), sampleVerification(false)}),
		"verification-empty": Verification(VerificationPage{frame(), store.Verification{}}),
		"verification-ugly":  Verification(VerificationPage{frame(), sampleVerification(true)}),
		"incidents":          Incidents(IncidentsPage{frame(TopicIncidents), store.Incidents{Now: sampleNow, Active: sampleIncidents(), Past: uglyIncidents()}, sampleTargets()}),
		"incidents-empty":    Incidents(IncidentsPage{frame(TopicIncidents), store.Incidents{Now: sampleNow}, nil}),
		"incident":           Incident(IncidentPage{Frame: frame(TopicIncident + "9"), View: sampleIncident(sampleIncidents()[0])}),
		"incident-ugly":      Incident(IncidentPage{Frame: frame(TopicIncident + "9"), View: sampleIncident(uglyIncidents()[0]), Reason: hostile[0], Conflict: &store.IncidentConflictError{Seen: 3, Why: store.ConflictChanged, Incident: sampleIncidents()[0]}}),
		"replay":             Replay(ReplayPage{frame(), nil, &store.InvalidError{Field: "timeline[3].at", Message: "must not be before the line above it"}}),
		"replay-ugly":        Replay(replaySample()),
		"past":               Past(PastPage{frame(), samplePast()}),
		"past-ugly":          Past(PastPage{frame(), uglyPast()}),
		"past-gone":          Past(PastPage{frame(), store.Past{Now: sampleNow, At: sampleNow.Add(-90 * 24 * time.Hour), Kept: sampleNow.Add(-30 * 24 * time.Hour)}}),
		"home-ugly":          Home(HomePage{frame(TopicHome), uglyHome()}),
		"home-empty":         Home(HomePage{frame(TopicHome), store.Home{Now: sampleNow, Empty: true}}),
		"home-quiet":         Home(HomePage{frame(TopicHome), store.Home{Now: sampleNow, States: map[store.State]store.Count{store.Completed: {N: 4}}}}),
		"jobs":               Jobs(listSample("", store.Page{Jobs: sampleJobs(30), Next: store.Place{ID: 70000}})),
		"jobs-empty":         Jobs(listSample("kind:none", store.Page{})),
		"jobs-bound":         Jobs(listSample("kind:rare", store.Page{Jobs: sampleJobs(2), Next: store.Place{ID: 7}, Prev: store.Place{ID: 8}, Bound: 20000})),
		"jobs-ugly":          Jobs(uglyList()),
		"jobs-wrong":         Jobs(wrongList()),
		"jobs-finished":      Jobs(listSample(`kind:report,invoice state:completed finished:>-2h attempts:2..5 args.customer_id:1970670598291982290`, store.Page{Jobs: sampleJobs(3), Order: store.OrderFinished})),
		"job":                jobSample(twoWorkers()),
		"job-waiting":        jobSample(newPlay().at(3 * time.Minute)),
		"job-done":           jobSample(twoWorkers().at(50 * time.Second).complete().at(2 * time.Hour)),
		"job-expired":        jobSample(newPlay().at(time.Second).claim("w1").at(40 * time.Second)),
		"job-50":             jobSample(manyAttempts(50)),
		"job-50-full":        Job(JobPage{Frame: frame(), View: manyAttempts(50).view(), Full: true}),
		"job-50-zoom":        Job(JobPage{Frame: frame(), View: manyAttempts(50).view(), Zoom: 12}),
		"job-5000":           jobSample(manyRenewals(5000)),
		"job-operators":      jobSample(operators()),
		"job-apart":          jobSample(hoursApart()),
		"job-ugly":           Job(JobPage{Frame: frame(), View: uglyView()}),
		"conflict":           Action(sampleConflict()),
		"action-422":         Action(ActionPage{Frame: frame(), Form: ActionForm{Action: store.ActionRequeue, Job: manyAttempts(3).job, Problem: &store.InvalidError{Field: "reason", Message: "is required"}}}),
		"reveal":             Reveal(RevealPage{frame(), twoWorkers().job, 0, store.Payload{Args: json.RawMessage(`{"customer_id":90071992547409931234,"month":"2026-11"}`), Result: json.RawMessage(`{"rows":[1.10,2e400]}`)}}),
		"job-changed":        jobSample(changed()),
		"job-erased":         jobSample(changed().at(90 * time.Second).erase()),
		"job-viewer":         viewerSample(),
		"reveal-version":     Reveal(RevealPage{frame(), changed().job, 1, store.Payload{Args: json.RawMessage(`{"customer_id":1}`)}}),
		"reveal-erased":      Reveal(RevealPage{frame(), changed().erase().job, 0, store.Payload{}}),
		"conflict-args":      Action(argsConflict()),
		"action-amend":       Action(ActionPage{Frame: frame(), Form: uglyAmendment()}),
		"sign-in":            SignIn(SignInPage{Frame: stranger(), Passwords: true, Provider: "accounts.example.org"}),
		"sign-in-ugly":       SignIn(uglySignIn()),
		"sign-in-on":         ToProvider(ToProviderPage{Frame: stranger(), Provider: "accounts.example.org", To: providersPage}),
		"set-up":             SetUp(SetUpPage{Frame: stranger(), Name: hostile[0], Code: "x", Problem: "This code is not valid."}),
		"resend":             Resend(ResendPage{Frame: adminFrame(), Kept: uglySignIn().Kept}),
		"account":            Account(AccountPage{Frame: adminFrame(), Person: samplePeople()[0], SignIns: sampleSignIns(), Current: "b", Changed: true}),
		"people":             People(PeoplePage{Frame: adminFrame(), People: samplePeople(), Tokens: sampleTokens(samplePeople()[1]), Passwords: true, Problem: &store.InvalidError{Field: "name", Message: "is taken"}, Typed: url.Values{FieldName: {hostile[0]}, FieldQueues: {hostile[1]}}}),
		"people-empty":       People(PeoplePage{Frame: adminFrame()}),
		"person":             Person(PersonPage{Frame: adminFrame(), Person: samplePeople()[1], SignIns: sampleSignIns(), Tokens: sampleTokens(samplePeople()[1]), Made: "fnc_" + strings.Repeat("x", 52), MadeAs: "grace/deploy"}),
		"person-own":         Person(PersonPage{Frame: adminFrame(), Person: samplePeople()[0], Own: true}),
		"person-last":        Person(PersonPage{Frame: adminFrame(), Person: samplePeople()[0], Conflict: &store.PersonConflictError{Why: store.ConflictLastAdmin, Person: samplePeople()[0]}}),
		"person-ugly":        Person(uglyPerson()),
		"error":              Error(ErrorPage{Frame: frame(), Status: 404, Message: "There is no job 99.", RequestID: "5f0c1a"}),
	}
}

// providersPage is the one address outside the console that a page leads to.
const providersPage = "https://accounts.example.org/authorize"

// listSample is a list that was searched for.
func listSample(line string, page store.Page) JobsPage {
	q, err := search.Parse(line)
	if err != nil {
		panic(err)
	}
	if page.Order == "" {
		page.Order = store.OrderNewest
	}
	p := JobsPage{Frame: frame(TopicJobs), List: List{Filter: store.Filter{Query: q}}, Line: q.String(), Page: page,
		Count: store.Count{N: int64(len(page.Jobs)), Capped: page.Bound > 0},
		Known: store.Known{Kinds: []string{"invoice", "report", "a b"}, Queues: []string{"default"}, Workers: []string{"worker-a2-4411-91d07c3e"}, Tags: []string{"urgent"}}}
	if q.InArgs() {
		p.Kept = "3f0c9a52-6a27-4c57-9a8f-0d1f6f9a1b2c"
	}
	return p
}

// wrongList is a list whose search cannot be understood.
func wrongList() JobsPage {
	p := listSample("kind:report", store.Page{})
	p.Line = "kind:report stat:running"
	p.Problem = &ListProblem{Term: "stat:running", At: 13, Message: "names no field: there is no stat."}
	return p
}

// uglyList shows hostile texts everywhere that a list can.
func uglyList() JobsPage {
	p := listSample("key:"+search.Quote(strings.Join(hostile[:3], " ")), store.Page{Jobs: uglyJobs(), Order: store.OrderNewest})
	p.Known = store.Known{Kinds: hostile, Queues: hostile, Workers: hostile, Tags: hostile}
	p.Columns = AllColumns
	return p
}

func jobSample(p *play) templ.Component {
	f := frame(TopicJob(p.job.ID))
	f.Now = p.now
	return Job(JobPage{Frame: f, View: p.view()})
}

var sampleNow = time.Date(2026, 11, 3, 14, 5, 0, 0, time.UTC)

func frame(topics ...string) Frame {
	return Frame{URLs: URLs{Base: "/ops"}, Asset: func(n string) string { return "/ops" + static.Path(n) },
		Actor: "local", Now: sampleNow, Position: "5100", Topics: topics}
}

// operators is a job that people requeued and terminated.
func operators() *play {
	p := newPlay()
	p.at(2 * time.Second).claim("w1").at(12 * time.Second).requeue("figures corrected")
	p.at(14*time.Second).claim("w2").at(15*time.Second).reject(1, store.OpRenew, store.ReasonAlreadyEnded)
	p.at(16*time.Second).reject(1, store.OpComplete, store.ReasonAlreadyEnded)
	return p.at(30 * time.Second).terminate("wrong customer; see the notes of the month").at(33 * time.Second)
}

// hoursApart has attempts with long pauses between them.
func hoursApart() *play {
	p := newPlay()
	p.at(time.Second).claim("w1").at(1200*time.Millisecond).due(5*time.Hour).fail(store.Retryable, "", "timeout", "no answer")
	p.at(5*time.Hour).claim("w2").at(5*time.Hour+3*time.Minute).due(21*time.Hour).fail(store.Retryable, "", "timeout", "no answer")
	return p.at(26 * time.Hour).claim("w3").at(26*time.Hour + 10*time.Second)
}

func sampleJobs(n int) []store.Job {
	var out []store.Job
	for i := range n {
		p := newPlay()
		p.job.ID = int64(90000 - i)
		switch i % 6 {
		case 0:
			p = twoWorkers()
		case 1:
			p.at(time.Second).claim("worker-b7-812-3f9c00aa")
		case 2:
			p.at(time.Second).claim("w").at(9 * time.Second).complete()
		case 3:
			p.at(time.Second).claim("w").due(time.Hour).fail(store.Retryable, "", "x", "y")
		case 4:
			p.terminate("no")
		}
		p.job.ID, p.job.Kind = int64(90000-i), []string{"report", "invoice", "thumbnail"}[i%3]
		out = append(out, p.job)
	}
	return out
}

func sampleHome() store.Home {
	p := twoWorkers()
	second := p.log[5]
	second.ID++
	return store.Home{Now: sampleNow, Running: store.Count{N: 1284}, OldestJob: 70412, OldestAt: sampleNow.Add(-724 * time.Second), OldestIn: "export",
		Expired: store.Count{N: 37}, ExpiredJobs: 37, RefusedJobs: store.Count{N: 8}, Reclaimed: 31, Waiting: 6, LongestUnowned: 41 * time.Second,
		Refused:  map[store.Reason]int64{store.ReasonSuperseded: 8, store.ReasonLeaseExpired: 1},
		Verified: sampleVerification(false),
		States:   map[store.State]store.Count{store.Running: {N: 1284}, store.Available: {N: 212}, store.Completed: {N: 10000, Capped: true}, store.Retryable: {N: 3}},
		Newest:   sampleJobs(12), Refusals: []store.Transition{p.log[5], second},
		Incidents: sampleIncidents(), Trend: sampleTrend(), Queues: sampleQueues("default", "reports", "mail"), Workers: 3, MoreQueues: true,
		LostWorkers: []store.Worker{{ID: "worker-a2-91-d0c4f7a1", SeenAt: sampleNow.Add(-95 * time.Second), Status: store.WorkerLost}}}
}

func sampleVerification(broken bool) store.Verification {
	v := store.Verification{N: 48190233, Since: sampleNow.Add(-30 * 24 * time.Hour), Through: sampleNow.Add(-2 * time.Second), At: sampleNow.Add(-time.Second)}
	if !broken {
		return v
	}
	v.Violations, v.Stale, v.Unsettled, v.Open, v.Beginless = 4611686018427387904, 999, 1000, 999, 12
	v.MissedFrom, v.MissedUntil = sampleNow.Add(-9*24*time.Hour), sampleNow.Add(-8*24*time.Hour)
	for i, text := range hostile {
		v.Found = append(v.Found, store.KeptViolation{Violation: store.Violation{Invariant: "I4", JobID: 9007199254740993000 + int64(i), Transition: 9007199254740993000, Message: text}, At: sampleNow, FoundAt: sampleNow, Stale: i%2 == 0})
	}
	return v
}

func samplePast() store.Past {
	at := sampleNow.Add(-653 * time.Minute)
	p := store.Past{Now: sampleNow, At: at, Sampled: at.Add(1300 * time.Millisecond), Trend: sampleTrend(), Incidents: sampleIncidents(), Kept: sampleNow.Add(-30 * 24 * time.Hour),
		Jobs: store.PastJobs{Completed: store.Count{N: 899}, Expired: store.Count{N: 10000, Capped: true}, Refused: store.Count{N: 1}}}
	for i, name := range []string{"default", "mail", "reports"} {
		p.Queues = append(p.Queues, store.PastQueue{Name: name, Known: true, Waiting: store.Count{N: int64(212 * i), Capped: i == 2}, Running: int64(40 * i), Oldest: time.Duration(i) * time.Minute,
			Tick: store.Tick{At: at, Counts: store.Counts{Claimed: 310, Completed: 301, Failed: int64(i), Expired: int64(12 * i), Refused: int64(i / 2)}}, Starts: int64(310 * i), StartMean: 38 * time.Millisecond})
	}
	return p
}

func uglyPast() store.Past {
	p := samplePast()
	p.Sampled, p.Queues, p.Incidents, p.More = time.Time{}, nil, uglyIncidents(), true
	for _, text := range hostile {
		p.Queues = append(p.Queues, store.PastQueue{Name: text, Tick: store.Tick{Counts: store.Counts{Completed: 4611686018427387904}}})
	}
	return p
}

func sampleIncidents() []store.Incident {
	at := sampleNow.Add(-3 * time.Minute)
	return []store.Incident{
		{ID: 9, Revision: 3, State: store.IncidentAcknowledged, Severity: "high", Rule: "expiry-spike", What: "37 leases expired within 5 minutes.", N: 37, Search: "lost:>-15m",
			Types: []store.Type{store.TypeExpired}, Owner: "oncall", OpenedAt: at, FoundAt: sampleNow, ChangedAt: at},
		{ID: 8, Revision: 1, State: store.IncidentOpen, Severity: "medium", Rule: "refused-writes", Scope: "kind export", What: "9 late writes of kind export were refused within 15 minutes; none was accepted.", N: 9, OpenedAt: at, FoundAt: at},
		{ID: 7, Revision: 2, State: store.IncidentOpen, Severity: "low", Rule: "of-tomorrow", Scope: "queue mail", What: "A rule of a newer program.", SnoozedUntil: sampleNow.Add(time.Hour), OpenedAt: at, FoundAt: at},
	}
}

func uglyIncidents() (out []store.Incident) {
	for i, text := range hostile {
		out = append(out, store.Incident{ID: 9007199254740993000 + int64(i), Revision: 4611686018427387904, State: store.IncidentResolved, Severity: "high", Rule: "backlog", Scope: "queue " + text, What: text,
			Search: `queue:"x"`, Owner: text, OpenedAt: sampleNow.Add(-time.Hour), FoundAt: sampleNow, ResolvedAt: sampleNow, Reopened: 99})
	}
	return out
}

func sampleTargets() (out []NoticeTarget) {
	night := &notice.Hours{From: 22 * time.Hour, To: 7 * time.Hour, Zone: time.UTC, Severity: detect.High}
	for n, name := range []string{"pager", "room", hostile[0], strings.Repeat("w", 200)} {
		t := NoticeTarget{Rule: notice.Rule{Target: name, Format: notice.PagerDuty, Severity: detect.Medium}}
		if n > 0 {
			t.Quiet, t.Told = night, store.Told{At: sampleNow.Add(-time.Hour), Job: 70000}
		}
		out = append(out, t)
	}
	return out
}

func sampleIncident(i store.Incident) store.IncidentView {
	v := store.IncidentView{Now: sampleNow, Incident: i, More: true, Similar: uglyIncidents()[1:], Merged: uglyIncidents(), Others: uglyIncidents(), Touched: store.Count{N: 100000, Capped: true}}
	for n, what := range []store.Type{store.TypeExpired, store.TypeRejected, store.TypeFailed} {
		v.Line = append(v.Line, store.IncidentLine{At: i.OpenedAt.Truncate(time.Minute), Type: what, N: int64(n + 1)})
	}
	for n, action := range []store.IncidentAction{store.IncidentOpened, store.IncidentAcknowledge, store.IncidentNote, store.IncidentSnooze, "of-tomorrow"} {
		v.Line = append(v.Line, store.IncidentLine{At: i.OpenedAt.Add(time.Duration(n) * time.Minute), Action: action, Actor: hostile[n], Reason: hostile[n+1], Until: sampleNow})
	}
	for n, o := range []store.IncidentOperation{{Pace: 60}, {DealtWith: 40}, {DealtWith: 40, Pace: 6000}, {DealtWith: 50}, {DealtWith: 60}, {DealtWith: 123456, Changed: 120000}, {}} {
		o.ID, o.Does, o.Total = int64(n+1), store.ActionRequeue, 123456
		v.Line = append(v.Line, store.IncidentLine{At: i.OpenedAt.Add(time.Duration(n+5) * time.Minute), Of: i.ID, Actor: hostile[1], Reason: hostile[n%len(hostile)], Operation: o,
			Action: []store.IncidentAction{"confirm", "pause", "resume", "halt", "cancel", "finish", "of-tomorrow"}[n]})
	}
	return v
}

func replaySample() ReplayPage {
	r := sampleReport()
	return ReplayPage{frame(), &r, nil}
}

func sampleTrend() store.Trend {
	t := store.Trend{Provisional: 37}
	for i := range 61 {
		n := int64(i)
		tick := store.Tick{At: sampleNow.Truncate(time.Minute).Add(time.Duration(i-60) * time.Minute), Counts: store.Counts{Claimed: 900 + 37*(n%7), Completed: 890 + 31*(n%5), Failed: n % 3}}
		if i > 55 {
			tick.Expired, tick.Refused = 12*(61-n), n-55
		}
		t.Ticks = append(t.Ticks, tick)
	}
	return t
}

func sampleQueues(names ...string) (out []store.HomeQueue) {
	for i, name := range names {
		q := store.HomeQueue{Queue: store.Queue{Name: name, Control: store.Control{Scope: store.ScopeQueue, Name: name}, Waiting: store.Count{N: int64(212 * i)}, Running: int64(40 * i), Workers: 3, Slots: 64}}
		if i > 0 {
			q.Oldest, q.Recent = sampleNow.Add(-time.Duration(i)*40*time.Second), store.Recent{Counts: store.Counts{Completed: 4650, Failed: int64(i - 1)}, Series: []int64{3, 5, 4, 8, 9, 9, 3, 5, 7, 7, 7, 8, 9, 4, 2}}
			q.Starts, q.StartMean, q.StartWorst = 4000, 38*time.Millisecond, 182*time.Second
		}
		out = append(out, q)
	}
	return out
}

// uglyHome has names that break out of what is not escaped, and numbers as
// large as they get.
func uglyHome() store.Home {
	h := sampleHome()
	h.Newest, h.Queues = uglyJobs(), sampleQueues(hostile...)
	h.Trend.Cut = true
	for i := range h.Trend.Ticks {
		h.Trend.Ticks[i].Claimed = 4611686018427387
	}
	h.LostWorkers = nil
	for i, text := range hostile {
		h.LostWorkers = append(h.LostWorkers, store.Worker{ID: text + decimal(int64(i)), SeenAt: sampleNow})
	}
	return h
}

func uglyJobs() []store.Job {
	var out []store.Job
	for i, text := range hostile {
		out = append(out, store.Job{ID: 9007199254740993000 + int64(i), Kind: text, Queue: text, Key: text, Worker: text, State: store.Running,
			Generation: 4611686018427387904, Attempts: 999999, MaxAttempts: 1000000, CreatedAt: sampleNow, LeaseUntil: sampleNow.Add(time.Hour)})
	}
	return out
}

func uglyView() store.JobView {
	p := operators()
	v := p.view()
	all := strings.Join(hostile, " ")
	v.Job.Kind, v.Job.Queue, v.Job.Key, v.Job.Tags = all, all, all, hostile
	v.Job.ID = 9007199254740993
	for i := range v.Transitions {
		v.Transitions[i].Worker, v.Transitions[i].Actor = hostile[i%len(hostile)], hostile[(i+1)%len(hostile)]
		if byOperator(v.Transitions[i].Type) {
			v.Transitions[i].Reason = all
		}
	}
	v.History = store.Fold(v.Transitions)
	v.Masked.Args, _ = json.Marshal(hostile)
	v.Errors = []store.AttemptFailure{{AttemptError: store.AttemptError{Class: hostile[0], Message: all, Trace: all}, Output: all, At: sampleNow, Generation: 1}}
	v.Versions = []store.ArgsVersion{{Version: 2, ReplacedAt: sampleNow, ReplacedBy: all, Reason: all, Bytes: 1 << 20}, {Version: 1, ReplacedAt: sampleNow, ReplacedBy: hostile[0], Bytes: 3}}
	v.Job.ParentID = 1
	v.Children = uglyJobs()[:2]
	v.Children[0].FollowName = all
	return v
}

func sampleConflict() ActionPage {
	p := twoWorkers()
	seen := p.job.Revision
	p.at(50 * time.Second).complete()
	p.at(51 * time.Second).requeue("numbers were wrong")
	since := p.log[len(p.log)-2:]
	return ActionPage{Frame: frame(), Since: since, Form: ActionForm{Action: store.ActionTerminate, Job: p.job, Typed: url.Values{FieldReason: {"It has run for too long."}}},
		Conflict: &store.ConflictError{Action: store.ActionTerminate, Why: store.ConflictChanged, Seen: seen, Job: p.job}}
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEverySamplePageRenders(t *testing.T) {
	for name, page := range samplePages() {
		html := render(t, page)
		if !strings.HasSuffix(strings.TrimSpace(html), "</html>") {
			t.Errorf("%s is not a whole page", name)
		}
		if *gallery == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(*gallery, name+".html"), []byte(html), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
