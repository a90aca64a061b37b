package views

import (
	"net/url"

	"github.com/fenceline/fenceline/store"
)

// The routes of queues, kinds and workers. Their names stand in the query: a
// path cannot hold every name.
const (
	RouteQueues  = "/queues"
	RoutePause   = "/queues/pause"  // POST
	RouteResume  = "/queues/resume" // POST
	RouteLimit   = "/queues/limit"  // POST
	RouteWorkers = "/workers"
	RouteDrain   = "/workers/drain"  // POST
	RouteUndrain = "/workers/resume" // POST

	ParamName   = "name" // queues: one queue; kinds are named by [ParamKind]
	ParamWorker = "id"   // workers: one worker
)

// The topics of their pages.
const (
	TopicQueues  = "queues"
	TopicWorkers = "workers"
)

// TopicQueue names one queue's topic on the stream.
func TopicQueue(name string) string { return "queue:" + url.QueryEscape(name) }

// TopicKind names one kind's topic on the stream.
func TopicKind(name string) string { return "kind:" + url.QueryEscape(name) }

// TopicWorker names one worker's topic on the stream.
func TopicWorker(id string) string { return "worker:" + url.QueryEscape(id) }

// Queue returns the address of one queue's page.
func (u URLs) Queue(name string) string {
	return withQuery(u.At(RouteQueues), url.Values{ParamName: {name}})
}

// Kind returns the address of one kind's page.
func (u URLs) Kind(name string) string {
	return withQuery(u.At(RouteQueues), url.Values{ParamKind: {name}})
}

// Worker returns the address of one worker's page.
func (u URLs) Worker(id string) string {
	return withQuery(u.At(RouteWorkers), url.Values{ParamWorker: {id}})
}

// JobsIn returns the address of the list of jobs of a state, a queue and a kind;
// empty ones mean any.
func (u URLs) JobsIn(state store.State, queue, kind string) string {
	q := url.Values{}
	for name, value := range map[string]string{ParamState: string(state), ParamQueue: queue, ParamKind: kind} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return withQuery(u.At(RouteJobs), q)
}

// Control returns the address to which a change of a control is posted.
func (u URLs) Control(scope store.Scope, action store.Action) string {
	switch {
	case action == store.ActionDrain:
		return u.At(RouteDrain)
	case action == store.ActionResume && scope == store.ScopeWorker:
		return u.At(RouteUndrain)
	case action == store.ActionResume:
		return u.At(RouteResume)
	case action == store.ActionLimit:
		return u.At(RouteLimit)
	}
	return u.At(RoutePause)
}

// Of returns the address of the page about what a control is set for.
func (u URLs) Of(c store.Control) string {
	switch c.Scope {
	case store.ScopeQueue:
		return u.Queue(c.Name)
	case store.ScopeKind:
		return u.Kind(c.Name)
	case store.ScopeWorker:
		return u.Worker(c.Name)
	}
	return u.At(RouteQueues)
}

// Done returns the address of that page, saying what was done.
func (u URLs) Done(c store.Control, done Flash) string {
	at, err := url.Parse(u.Of(c))
	if err != nil {
		return u.Of(c)
	}
	q := at.Query()
	q.Set(ParamDone, string(done))
	return withQuery(at.Path, q)
}
