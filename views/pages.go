package views

import (
	"net/url"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
)

// Frame is what every page carries around its own content.
type Frame struct {
	URLs     URLs
	Asset    func(name string) string // address of a file of the static package, prefix included
	Actor    string                   // who is looking: "local" where nobody signs in, empty for who has not yet
	SignedIn bool                     // whether the reader signed in, and so has an account and can sign out
	Limits   *Limits                  // what the reader may not do; nil for a reader who may do everything
	Now      time.Time                // the database's clock when the page was read; zero where it was not read
	Position string                   // where the stream resumes so that nothing is missed; empty for pages that are not live
	Topics   []string                 // what the page follows; empty for pages that are not live
	Search   string                   // echo of the search box
	Done     Flash                    // what the last action did; from the query, see [KnownFlash]
}

// HomePage is the triage page.
type HomePage struct {
	Frame
	Home store.Home
}

// JobsPage is the list of jobs. What could not be understood of the search is
// told in Problem, and the list is empty then.
type JobsPage struct {
	Frame
	List
	Line    string // the search as its line shows it
	Page    store.Page
	Count   store.Count // of what matches, as far as it was counted
	Known   store.Known // values that can be searched for
	Problem *ListProblem
}

// Query is what the list was searched for.
func (p JobsPage) Query() search.Query { return p.Filter.Search() }

// ListProblem says what of a search or of its address cannot be understood.
type ListProblem struct {
	Field   string // of the search or of the address; empty when there is none of that name
	Term    string // as it was written
	At      int    // where it begins in the line, counted from 1; 0 where it does not stand there
	Message string // goes behind the term
}

// JobPage is one job's page.
type JobPage struct {
	Frame
	View  store.JobView
	Ahead store.Prospects // of a job that waits: who would claim it, and what is set for its queue and kind
	Zoom  int64           // the generation to which the lanes zoom; 0 shows all
	Full  bool            // shows every lane and transition instead of the newest
}

// ActionPage is the form of an action on a page of its own: what a refused one
// answers with. What was typed is kept.
type ActionPage struct {
	Frame
	Form     ActionForm
	Conflict *store.ConflictError // why it was refused (409); nil otherwise
	Since    []store.Transition   // what happened after the revision that was seen, oldest first
}

// ActionForm is the form of an operator's action on one job.
type ActionForm struct {
	Action   store.Action
	Job      store.Job           // as it is now; the form is bound to its revision
	Versions []store.ArgsVersion // what can be restored
	Typed    url.Values          // by field; nil where nothing was typed yet
	Problem  *store.InvalidError // which field cannot be accepted (422); nil otherwise
}

// RevealPage shows a job's payload unmasked. It must be sent with no-store.
type RevealPage struct {
	Frame
	Job     store.Job     // as it was right before
	Version int64         // the one whose args are shown, alone; 0 for all that the job has now
	Payload store.Payload // without args where they were erased
}

// ErrorPage says that a request could not be served.
type ErrorPage struct {
	Frame
	Status    int
	Message   string // a sentence for the reader; never an internal error's text
	Field     string // the parameter or field at fault; empty when there is none
	RequestID string
	Again     string // the address to ask once more, for what may succeed then; empty for other errors
}
