package views

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/fenceline/fenceline/store"
)

// The routes of the console, as the router spells them. They are relative to
// the path prefix under which the console is mounted; [URLs] fills them in.
const (
	RouteHome      = "/"
	RouteDrill     = "/drill" // POST
	RouteJobs      = "/jobs"
	RouteSearch    = "/jobs/search" // POST
	RouteJob       = "/jobs/:id"
	RouteRequeue   = "/jobs/:id/requeue"   // POST; GET shows the form alone
	RouteTerminate = "/jobs/:id/terminate" // POST; GET shows the form alone
	RouteAmend     = "/jobs/:id/amend"     // POST
	RouteNote      = "/jobs/:id/note"      // POST
	RouteDuplicate = "/jobs/:id/duplicate" // POST
	RouteErase     = "/jobs/:id/erase"     // POST
	RouteReveal    = "/jobs/:id/reveal"    // POST
	RouteStream    = "/stream"
)

// The names of the fields and parameters that the console's forms and links
// send.
const (
	FieldReason  = "reason"  // an operator's reason, at most [store.MaxReason] bytes
	FieldSeen    = "seen"    // the revision that the form was made from, decimal
	FieldArgs    = "args"    // other args, as JSON
	FieldRestore = "restore" // the version of the args that is to be the present one again
	FieldVersion = "version" // reveal: of the args; empty for what the job has now
	FieldAs      = "as"      // reveal: [AsPage] or [AsFile]
	FieldPart    = "part"    // reveal as a file: "args" or "result"
	ParamDone    = "done"    // the code of a [Flash]
	FieldWas     = "was"     // search: what was searched for when the form was made
	FieldControl = "f-"      // search: begins the name of a control, which ends with its field
	FieldColumn  = "c-"      // search: begins the name of a column's box
	ParamSearch  = "q"       // jobs: a search, or a job's id
	ParamKept    = "search"  // jobs: the id of a search that is kept
	ParamState   = "state"   // jobs: a state, as a term of the search
	ParamKind    = "kind"    // jobs: a kind, likewise
	ParamQueue   = "queue"   // jobs: a queue, likewise
	ParamKey     = "key"     // jobs: a key, likewise
	ParamOrder   = "order"   // jobs: one of [store.Orders]
	ParamLimit   = "limit"   // jobs: how many on a page
	ParamColumns = "columns" // jobs: [Column]s with commas between
	ParamBefore  = "before"  // jobs: the page that leads up to this place
	ParamZoom    = "attempt" // a job's page: the generation to which the lanes zoom
	ParamFull    = "full"    // a job's page: "1" shows every lane and transition
	ParamTopic   = "topic"   // stream: [TopicHome], [TopicJobs] or [TopicJob]; repeatable
	ParamAfter   = "after"   // stream: the position to resume from; jobs: the page that follows this place
	AsPage       = "page"    // a reveal shown on a page
	AsFile       = "file"    // a reveal sent as a download
	TopicHome    = "home"    // the triage page
	TopicJobs    = "jobs"    // the list of jobs
)

// The fields of what an operator changes of a job; empty leaves it as it is. They
// are named as in the API. The queue's is [ParamQueue].
const (
	FieldQueue       = ParamQueue
	FieldPriority    = "priority"
	FieldRunAt       = "run_at" // a time in UTC, or a delay as +5m
	FieldMaxAttempts = "max_attempts"
	FieldAddTag      = "add_tag"
	FieldRemoveTag   = "remove_tag"
)

// TopicJob names one job's topic on the stream.
func TopicJob(id int64) string { return "job:" + decimal(id) }

// URLs builds every address of the console.
type URLs struct {
	Base  string // the path prefix: empty, or "/ops/leases" without a slash at the end
	Trace string // where a trace is shown, with {trace} in place of its id; empty when nowhere
}

// At returns the address of a route that has no parameters.
func (u URLs) At(route string) string { return u.Base + route }

// Home returns the address of the triage page.
func (u URLs) Home() string { return u.At(RouteHome) }

// Drill returns the address to which the drill's button posts.
func (u URLs) Drill() string { return u.At(RouteDrill) }

// Stream returns the address of the event stream, without topics.
func (u URLs) Stream() string { return u.At(RouteStream) }

// Job returns the address of a job's page.
func (u URLs) Job(id int64) string { return u.of(RouteJob, id) }

// JobDone returns the address of a job's page that says what was done.
func (u URLs) JobDone(id int64, done Flash) string {
	return withQuery(u.Job(id), url.Values{ParamDone: {string(done)}})
}

// Lanes returns the address of a job's page whose lanes show one attempt
// (generation, 0 for all of them), and every lane and transition when full.
func (u URLs) Lanes(id, generation int64, full bool) string {
	q := url.Values{}
	if generation != 0 {
		q.Set(ParamZoom, decimal(generation))
	}
	if full {
		q.Set(ParamFull, "1")
	}
	return withQuery(u.Job(id), q)
}

var actionRoutes = map[store.Action]string{
	store.ActionRequeue: RouteRequeue, store.ActionTerminate: RouteTerminate, store.ActionAmend: RouteAmend,
	store.ActionNote: RouteNote, store.ActionDuplicate: RouteDuplicate, store.ActionErase: RouteErase,
}

// Action returns the address to which an operator's action is posted.
func (u URLs) Action(id int64, action store.Action) string {
	return u.of(actionRoutes[action], id)
}

// Reveal returns the address to which a reveal is posted.
func (u URLs) Reveal(id int64) string { return u.of(RouteReveal, id) }

// Jobs returns the address of the list of jobs that a filter selects.
func (u URLs) Jobs(f store.Filter) string { return u.List(List{Filter: f}) }

// List returns the address of a list of jobs.
func (u URLs) List(l List) string { return withQuery(u.At(RouteJobs), l.query()) }

func (u URLs) of(route string, id int64) string {
	return u.At(strings.Replace(route, ":id", decimal(id), 1))
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
