package views

import (
	"net/url"

	"github.com/fenceline/fenceline/store"
)

// The routes of operations: actions on many jobs.
const (
	RouteOperations       = "/operations"             // GET; POST makes a preview
	RouteOperation        = "/operations/:id"         //
	RouteOperationConfirm = "/operations/:id/confirm" // POST
	RouteOperationPause   = "/operations/:id/pause"   // POST
	RouteOperationResume  = "/operations/:id/resume"  // POST
	RouteOperationCancel  = "/operations/:id/cancel"  // POST

	FieldDo        = "do"         // preview: an action and [DoTicked] or [DoMatching], with a space between
	FieldTick      = "t-"         // preview: begins the name of a ticked job, which ends with its id; the value is its revision
	FieldPace      = "pace"       // jobs a minute; empty for as fast as it goes
	FieldHaltAbove = "halt_above" // percent; empty for no rule

	DoTicked   = "ticked"
	DoMatching = "matching"

	TopicOperations = "operations"
)

// TopicOperation names one operation's topic on the stream.
func TopicOperation(id int64) string { return "operation:" + decimal(id) }

// Operation returns the address of an operation's page.
func (u URLs) Operation(id int64) string { return u.of(RouteOperation, id) }

// OperationDone returns the address of an operation's page that says what was
// done.
func (u URLs) OperationDone(id int64, done Flash) string {
	return withQuery(u.Operation(id), url.Values{ParamDone: {string(done)}})
}

// ChangeOperation returns the address to which a change of an operation is
// posted.
func (u URLs) ChangeOperation(id int64, action store.Action) string {
	route := map[store.Action]string{
		store.ActionConfirm: RouteOperationConfirm, store.ActionPause: RouteOperationPause,
		store.ActionResume: RouteOperationResume, store.ActionCancel: RouteOperationCancel,
	}[action]
	return u.of(route, id)
}

// selectedBy returns the address of the list of jobs that an operation's search
// selects now; empty where jobs were ticked.
func (u URLs) selectedBy(o store.Operation) string {
	switch {
	case o.Search.String() != "00000000-0000-0000-0000-000000000000":
		return withQuery(u.At(RouteJobs), url.Values{ParamKept: {o.Search.String()}})
	case o.Filter != "":
		return withQuery(u.At(RouteJobs), url.Values{ParamSearch: {o.Filter}})
	}
	return ""
}
