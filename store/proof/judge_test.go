package proof

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// at is an event between two points of time.
func at(began, ended time.Duration, c Call, a Answer) Event {
	return Event{Call: c, Answer: a, Began: began, Ended: ended}
}

var (
	enqueued = at(0, 1, Call{Verb: Enqueue, Budget: 3}, Answer{Verdict: Accepted})
	first    = Answer{Verdict: Accepted, Generation: 1, Used: 1, Budget: 3}
	claimed  = at(2, 3, claim(1), first)
	short    = at(2, 3, Call{Verb: ClaimJob, By: Fence{Attempt: 1}, Short: true}, first)
	done     = Answer{Verdict: Accepted, State: store.Completed}
	running  = Row{State: store.Running, Revision: 2, Generation: 1, Used: 1, Budget: 3, Attempt: 1, Args: 1}
	finished = Row{State: store.Completed, Revision: 3, Generation: 1, Used: 1, Budget: 3, Attempt: 1, End: store.EndCompleted, ResultBy: Fence{1, 1}, Args: 1}
	result   = complete(1, 1, "r", 0)
	lost     = Answer{Lost: true}
)

func read(at time.Duration, r Row) Event {
	return Event{Call: Call{Verb: Read}, Answer: Answer{Row: r}, Began: at, Ended: at + 1}
}

func TestOrdersThatTheModelAllowsAndThoseItDoesNot(t *testing.T) {
	for name, c := range map[string]struct {
		events []Event
		legal  bool
	}{
		"a result of the current attempt":                 {[]Event{enqueued, claimed, at(4, 5, result, done)}, true},
		"a result before the claim":                       {[]Event{enqueued, at(2, 3, result, done), at(4, 5, claim(1), first)}, false},
		"a result during the claim":                       {[]Event{enqueued, at(2, 6, claim(1), first), at(3, 5, result, done)}, true},
		"two results, neither a repeat":                   {[]Event{enqueued, claimed, at(4, 5, result, done), at(6, 7, result, done)}, false},
		"nothing to claim while nobody is near":           {[]Event{enqueued, at(2, 3, claim(1), Answer{})}, false},
		"nothing to claim while another looks at the row": {[]Event{enqueued, at(2, 5, claim(1), Answer{}), at(3, 6, Call{Verb: Read}, Answer{Row: Row{State: store.Available, Revision: 1, Budget: 3, Args: 1}})}, true},
		"a lost result that happened":                     {[]Event{enqueued, claimed, at(4, never, result, lost), read(6, finished)}, true},
		"a lost result that did not":                      {[]Event{enqueued, claimed, at(4, never, result, lost), read(6, running)}, true},
		"a lost result that happened later":               {[]Event{enqueued, claimed, at(4, never, result, lost), read(6, running), read(8, finished)}, true},
		"a lost result that unhappened":                   {[]Event{enqueued, claimed, at(4, never, result, lost), read(6, finished), read(8, running)}, false},
		"a short lease that ended unseen":                 {[]Event{enqueued, short, at(4, 5, result, Answer{Verdict: "lease_expired", Generation: 1})}, true},
		"a short lease that lived":                        {[]Event{enqueued, short, at(4, 5, Call{Verb: Hold}, Answer{Row: running, Alive: true}), at(6, 7, result, done)}, true},
		"a short lease that was seen ended and lived":     {[]Event{enqueued, short, at(4, 5, Call{Verb: Hold}, Answer{Row: running}), at(6, 7, result, done)}, false},
		"a long lease that ended by itself":               {[]Event{enqueued, claimed, at(4, 5, result, Answer{Verdict: "lease_expired", Generation: 1})}, false},
		"a wrong reason":                                  {[]Event{enqueued, claimed, at(4, 5, renew(stranger, 1), Answer{Verdict: "already_ended", Generation: 1})}, false},
		"an error":                                        {[]Event{enqueued, claimed, at(4, 5, result, Answer{Err: "no"})}, false},
	} {
		h := History{Events: c.events}
		h.markAlone()
		ok := h.explained()
		if ok != c.legal {
			t.Errorf("%s: legal %v, want %v", name, ok, c.legal)
		}
	}
}

func TestWhatWasAnsweredMustBeOnRecordOnceAndNothingElse(t *testing.T) {
	n := newNames()
	refused := at(4, 5, renew(stranger, 1), Answer{Verdict: "superseded", Generation: 1})
	log := []store.Transition{
		{ID: 1, Type: store.TypeEnqueued},
		{ID: 2, Type: store.TypeClaimed, AttemptID: n.id(1), Generation: 1},
		{ID: 3, Type: store.TypeRejected, Op: store.OpRenew, AttemptID: n.id(stranger), Generation: 1, Reason: "superseded", Detail: store.Detail{Current: 1}},
	}
	for name, c := range map[string]struct {
		change func(*History)
		broken bool
	}{
		"as it is":                  {func(*History) {}, false},
		"a refusal unrecorded":      {func(h *History) { h.Log = h.Log[:2] }, true},
		"a refusal recorded twice":  {func(h *History) { h.Log = append(h.Log, h.Log[2]) }, true},
		"another reason on record":  {func(h *History) { h.Log[2].Reason = "terminated" }, true},
		"another attempt on record": {func(h *History) { h.Log[2].AttemptID = uuid.New() }, true},
		"another current one":       {func(h *History) { h.Log[2].Detail.Current = 2 }, true},
		"a claim unrecorded":        {func(h *History) { h.Log = append(h.Log[:1], h.Log[2]) }, true},
		"an end that nobody made":   {func(h *History) { h.Log = append(h.Log, store.Transition{Type: store.TypeExpired}) }, true},
	} {
		h := History{Events: []Event{enqueued, claimed, refused}, Log: append([]store.Transition{}, log...), names: n}
		c.change(&h)
		h.compareRecords()
		if (len(h.Broken) > 0) != c.broken {
			t.Errorf("%s: %s", name, strings.Join(h.Broken, "; "))
		}
	}
}
