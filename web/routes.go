package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// The routes of the API and of what machines ask, beside those of [views].
const (
	routeHealth      = "/healthz"
	routeReady       = "/readyz"
	routeMetrics     = "/metrics"
	routeStatic      = "/static/*"
	routeDocument    = "/api/v1/openapi.json"
	routeAPIJobs     = "/api/v1/jobs"
	routeAPISearches = "/api/v1/searches"
	routeAPIJob      = "/api/v1/jobs/:id"
	routeTransitions = "/api/v1/jobs/:id/transitions"
	routeAPIStream   = "/api/v1/jobs/:id/transitions/stream"
	routeAPIRequeue  = "/api/v1/jobs/:id/requeue"
	routeAPITerm     = "/api/v1/jobs/:id/terminate"
	routeAPIQueues   = "/api/v1/queues"
	routeAPIPause    = "/api/v1/queues/pause"
	routeAPIResume   = "/api/v1/queues/resume"
	routeAPILimit    = "/api/v1/queues/limit"
	routeAPIWorkers  = "/api/v1/workers"
	routeAPIDrain    = "/api/v1/workers/drain"
	routeAPIUndrain  = "/api/v1/workers/resume"
)

// route is one line of the table. Names of users (kinds, queues, keys) stand
// in queries only; a path holds nothing but ids.
type route struct {
	path, method string
	handler      echo.HandlerFunc
	what         string
	stream       bool // never ends by itself; no HEAD
}

// routes is every address that the server answers.
func (s *Server) routes() []route {
	const get, post = http.MethodGet, http.MethodPost
	all := []route{
		{path: views.RouteHome, method: get, handler: s.home, what: "triage: the three-way answer and the newest jobs"},
		{path: views.RouteDrill, method: post, handler: s.drill, what: "start the drill, then show its job"},
		{path: views.RouteJobs, method: get, handler: s.jobs, what: "the list of jobs that a search selects"},
		{path: views.RouteSearch, method: post, handler: s.search, what: "read the search form, keep what may stand in no address, and show the list"},
		{path: views.RouteJob, method: get, handler: s.job, what: "one job: lanes, transitions, errors, masked payload"},
		{path: views.RouteRequeue, method: post, handler: s.act(store.ActionRequeue, views.FlashRequeued), what: "requeue, bound to the revision seen"},
		{path: views.RouteTerminate, method: post, handler: s.act(store.ActionTerminate, views.FlashTerminated), what: "terminate, bound to the revision seen"},
		{path: views.RouteAmend, method: post, handler: s.act(store.ActionAmend, views.FlashAmended), what: "change what a job is worked with, bound to the revision seen"},
		{path: views.RouteNote, method: post, handler: s.act(store.ActionNote, views.FlashNoted), what: "write a note on a job's timeline"},
		{path: views.RouteDuplicate, method: post, handler: s.act(store.ActionDuplicate, views.FlashDuplicated), what: "enqueue a new job like this one"},
		{path: views.RouteErase, method: post, handler: s.act(store.ActionErase, views.FlashErased), what: "erase a job's payload, and keep its timeline"},
		{path: views.RouteReveal, method: post, handler: s.reveal, what: "show a payload and record who looked"},
		{path: views.RouteQueues, method: get, handler: s.queues, what: "all queues and kinds, or the one that the query names"},
		{path: views.RoutePause, method: post, handler: s.pause, what: "pause a queue, a kind or everything"},
		{path: views.RouteResume, method: post, handler: s.resume, what: "resume what is paused"},
		{path: views.RouteLimit, method: post, handler: s.limit, what: "limit a queue or a kind over all processes"},
		{path: views.RouteWorkers, method: get, handler: s.workers, what: "all workers, or the one that the query names"},
		{path: views.RouteDrain, method: post, handler: s.drainWorker, what: "keep a worker from claiming more"},
		{path: views.RouteUndrain, method: post, handler: s.resumeWorker, what: "let a drained worker claim again"},
		{path: views.RouteVerification, method: get, handler: s.verification, what: "what was checked of the log by itself, and what was found"},
		{path: views.RouteIncidents, method: get, handler: s.incidents, what: "what is wrong, and what was"},
		{path: views.RouteTryNotice, method: post, handler: s.tryNotice, what: "send a test to who is told of incidents"},
		{path: views.RouteIncidentReplay, method: get, handler: s.replay, what: "ask for a report that was exported"},
		{path: views.RouteIncidentReplay, method: post, handler: s.replayReport, what: "tell a report that was exported, and store nothing"},
		{path: views.RouteIncident, method: get, handler: s.incident, what: "one incident: its timeline, and what can be done"},
		{path: views.RouteIncidentChange, method: post, handler: s.changeIncident, what: "acknowledge, resolve, snooze, weigh, merge or note, bound to the revision seen"},
		{path: views.RouteIncidentReport, method: get, handler: s.incidentReport, what: "the report on an incident, as Markdown or JSON"},
		{path: views.RouteOperations, method: get, handler: s.operations, what: "the operations on many jobs"},
		{path: views.RouteOperations, method: post, handler: s.previewOperation, what: "take a snapshot of many jobs, and act on none yet"},
		{path: views.RouteOperation, method: get, handler: s.operation, what: "one operation: its preview, then its progress"},
		{path: views.RouteOperationConfirm, method: post, handler: s.confirmOperation, what: "begin what a preview showed"},
		{path: views.RouteOperationPause, method: post, handler: s.pauseOperation, what: "pause an operation"},
		{path: views.RouteOperationResume, method: post, handler: s.resumeOperation, what: "go on with an operation"},
		{path: views.RouteOperationCancel, method: post, handler: s.cancelOperation, what: "end an operation"},
		{path: views.RouteAudit, method: get, handler: s.audit, what: "what people did and looked at"},
		{path: views.RouteAuditExport, method: get, handler: s.exportAudit, what: "the audit as CSV or JSON lines", stream: true},
		{path: views.RouteStream, method: get, handler: refuseForeignReader(s.stream), what: "live patches of the topics named", stream: true},

		{path: views.RouteSignIn, method: get, handler: s.withSignIn(s.signIn), what: "ask people who they are"},
		{path: views.RouteSignIn, method: post, handler: s.withSignIn(s.enter), what: "sign in with a name and a password"},
		{path: views.RouteProvider, method: post, handler: s.withSignIn(s.toProvider), what: "lead to the OpenID provider"},
		{path: views.RouteReturn, method: get, handler: s.withSignIn(s.fromProvider), what: "come back from the OpenID provider"},
		{path: views.RouteSignOut, method: post, handler: s.withSignIn(s.signOut), what: "end this browser's session"},
		{path: views.RouteSetUp, method: get, handler: s.withSignIn(s.setUp), what: "the form for the first account"},
		{path: views.RouteSetUp, method: post, handler: s.withSignIn(s.makeFirst), what: "make the first account, with a one-time code"},
		{path: views.RouteAccount, method: get, handler: s.withSignIn(s.account), what: "a person's own account"},
		{path: views.RoutePassword, method: post, handler: s.withSignIn(s.changePassword), what: "change one's own password"},
		{path: views.RouteEndSignIns, method: post, handler: s.withSignIn(s.endSignIns), what: "sign out of other browsers"},

		{path: routeHealth, method: get, handler: plain(s.probes.health), what: "whether the process lives"},
		{path: routeReady, method: get, handler: plain(s.probes.ready), what: "whether it can serve, and why not"},
		{path: routeStatic, method: get, handler: s.static, what: "the console's own files"},

		{path: routeDocument, method: get, handler: s.document, what: "the API's OpenAPI document"},
		{path: routeAPIJobs, method: get, handler: s.apiList, what: "a page of the jobs that a search selects"},
		{path: routeAPISearches, method: post, handler: s.apiKeep, what: "keep a search that may stand in no address"},
		{path: routeAPIJobs, method: post, handler: s.apiEnqueue, what: "enqueue a job"},
		{path: routeAPIJob, method: get, handler: s.apiJob, what: "a job with its payload and attempts"},
		{path: routeTransitions, method: get, handler: s.apiTransitions, what: "a job's transitions"},
		{path: routeAPIStream, method: get, handler: refuseForeignReader(s.apiStream), what: "a job's transitions as they happen", stream: true},
		{path: routeAPIRequeue, method: post, handler: s.apiRequeue, what: "requeue, bound to the revision seen"},
		{path: routeAPITerm, method: post, handler: s.apiTerminate, what: "terminate, bound to the revision seen"},
		{path: routeAPIAmend, method: post, handler: s.apiAmend, what: "change what a job is worked with, bound to the revision seen"},
		{path: routeAPINote, method: post, handler: s.apiNote, what: "write a note on a job's timeline"},
		{path: routeAPIDuplicate, method: post, handler: s.apiDuplicate, what: "enqueue a new job like this one"},
		{path: routeAPIErase, method: post, handler: s.apiErase, what: "erase a job's payload, and keep its timeline"},
		{path: routeAPIVersions, method: get, handler: s.apiVersions, what: "which versions of a job's args are kept"},
		{path: routeAPIVersion, method: get, handler: s.apiVersion, what: "one version of a job's args"},
		{path: routeAPIQueues, method: get, handler: s.apiQueues, what: "all queues and kinds, or the one that the query names"},
		{path: routeAPIPause, method: post, handler: s.apiPause, what: "pause a queue, a kind or everything"},
		{path: routeAPIResume, method: post, handler: s.apiResume, what: "resume what is paused"},
		{path: routeAPILimit, method: post, handler: s.apiLimit, what: "limit a queue or a kind over all processes"},
		{path: routeAPIWorkers, method: get, handler: s.apiWorkers, what: "all workers, or the one that the query names"},
		{path: routeAPIDrain, method: post, handler: s.apiDrain, what: "keep a worker from claiming more"},
		{path: routeAPIUndrain, method: post, handler: s.apiUndrain, what: "let a drained worker claim again"},
		{path: routeAPIAudit, method: get, handler: s.apiAudit, what: "what people did and looked at"},
		{path: routeAPIVerification, method: get, handler: s.apiVerification, what: "what was checked of the log by itself, and what was found"},
		{path: routeAPIPast, method: get, handler: s.apiPast, what: "what the queues looked like in a minute"},
		{path: routeAPINotices, method: get, handler: s.apiNotices, what: "who is told of incidents, and what each was told last"},
		{path: routeAPITryNotice, method: post, handler: s.apiTryNotice, what: "send a test to who is told of incidents"},
		{path: routeAPIIncidents, method: get, handler: s.apiIncidents, what: "what is wrong, and what was"},
		{path: routeAPIReplay, method: post, handler: s.apiReplay, what: "read a report that was exported, and store nothing"},
		{path: routeAPIIncident, method: get, handler: s.apiIncident, what: "one incident with its timeline"},
		{path: routeAPIIncidentChange, method: post, handler: s.apiChangeIncident, what: "acknowledge, resolve, snooze, weigh, merge or note, bound to the revision seen"},
		{path: routeAPIIncidentReport, method: get, handler: s.apiIncidentReport, what: "the report on an incident, as JSON or Markdown"},
		{path: routeAPIOperations, method: get, handler: s.apiOperations, what: "the operations on many jobs"},
		{path: routeAPIOperations, method: post, handler: s.apiPreview, what: "take a snapshot of many jobs, and act on none yet"},
		{path: routeAPIOperation, method: get, handler: s.apiOperation, what: "one operation"},
		{path: routeAPISkipped, method: get, handler: s.apiSkipped, what: "the jobs that an operation left alone"},
		{path: routeAPIConfirm, method: post, handler: s.apiConfirm, what: "begin what a preview showed"},
		{path: routeAPIPauseOp, method: post, handler: s.apiPauseOp, what: "pause an operation"},
		{path: routeAPIResumeOp, method: post, handler: s.apiResumeOp, what: "go on with an operation"},
		{path: routeAPICancelOp, method: post, handler: s.apiCancelOp, what: "end an operation"},
	}
	all = append(all, s.peopleRoutes()...)
	if s.cfg.Metrics != nil {
		all = append(all, route{path: routeMetrics, method: get, handler: echo.WrapHandler(s.probes.figures()), what: "figures for Prometheus"})
	}
	return all
}

func plain(h http.HandlerFunc) echo.HandlerFunc { return echo.WrapHandler(h) }

func (s *Server) router() *echo.Echo {
	e := echo.New()
	e.IPExtractor = addressOf(s.cfg.SignIn)
	e.SchemeExtractor = echo.ExtractSchemeDirect()
	e.HTTPErrorHandler = func(err error, c echo.Context) { s.answer(c, explain(err)) }
	e.Pre(s.observe, s.underPrefix, s.headers, s.expectHost)
	e.Use(s.refuseForgery) // knows the route, for the record of what is refused
	for _, r := range s.routes() {
		if r.stream {
			e.Add(r.method, r.path, s.permit(r, r.handler))
			continue
		}
		handler := s.bounded(s.permit(r, r.handler))
		e.Add(r.method, r.path, handler)
		if r.method == http.MethodGet {
			e.Add(http.MethodHead, r.path, handler)
		}
	}
	return e
}

// bounded gives a request an end while its answer can still be written: a
// database that says nothing must not look like a console that does.
func (s *Server) bounded(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		asked := c.Request()
		ctx, cancel := context.WithTimeout(asked.Context(), s.cfg.Patience)
		defer cancel()
		// What is answered to an error is rendered after the end of the handler.
		defer c.SetRequest(asked)
		c.SetRequest(asked.WithContext(ctx))
		return next(c)
	}
}
