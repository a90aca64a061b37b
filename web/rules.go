package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// rule says who may use an address. Its zero value lets nobody in.
type rule struct {
	open bool        // whoever reaches the console, signed in or not
	role store.Role  // the least role
	also store.Right // what is needed beside it; empty for nothing

	// Of who may act in some queues only: ofJob lets them act on jobs of those;
	// named leaves it to the handler, which reads the name from the body, see
	// [Server.mayActOn]; everywhere refuses them.
	ofJob, named, everywhere bool
}

var (
	anybody  = rule{open: true}
	look     = rule{role: store.RoleViewer}
	onJob    = rule{role: store.RoleOperator, ofJob: true}
	onNamed  = rule{role: store.RoleOperator, named: true}
	onAll    = rule{role: store.RoleOperator, everywhere: true}
	inBulk   = rule{role: store.RoleOperator, also: store.RightBulk, everywhere: true}
	toAudit  = rule{role: store.RoleOperator}
	toErase  = rule{role: store.RoleOperator, also: store.RightReveal, ofJob: true}
	toPeople = rule{role: store.RoleAdmin, everywhere: true}
	toReveal = rule{role: store.RoleViewer, also: store.RightReveal, ofJob: true}
)

// rules is who may do what, by method and route: the only place that says so.
// An address that does not stand here is for nobody.
var rules = map[string]rule{
	"GET " + views.RouteHome:       look,
	"POST " + views.RouteDrill:     onAll,
	"GET " + views.RouteJobs:       look,
	"POST " + views.RouteSearch:    look, // searches in args ask for the right to reveal
	"GET " + views.RouteJob:        look,
	"POST " + views.RouteRequeue:   onJob,
	"POST " + views.RouteTerminate: onJob,
	"POST " + views.RouteAmend:     onJob, // other args need the right to reveal, another queue that one; see [Server.mayDo]
	"POST " + views.RouteNote:      onJob,
	"POST " + views.RouteDuplicate: onJob,
	"POST " + views.RouteErase:     toErase,
	"POST " + views.RouteReveal:    toReveal,
	"GET " + views.RouteQueues:     look,
	"POST " + views.RoutePause:     onNamed,
	"POST " + views.RouteResume:    onNamed,
	"POST " + views.RouteLimit:     onNamed,
	"GET " + views.RouteWorkers:    look,
	"POST " + views.RouteDrain:     onNamed,
	"POST " + views.RouteUndrain:   onNamed,
	"GET " + views.RouteStream:     look,

	"GET " + views.RouteVerification:    look,
	"GET " + routeAPIPast:               look,
	"GET " + routeAPIVerification:       look,
	"GET " + views.RouteIncidents:       look,
	"GET " + views.RouteIncident:        look,
	"POST " + views.RouteIncidentChange: onAll,
	"POST " + views.RouteTryNotice:      onAll,
	"GET " + routeAPINotices:            look,
	"POST " + routeAPITryNotice:         onAll,
	"GET " + routeAPIIncidents:          look,
	"GET " + routeAPIIncident:           look,
	"POST " + routeAPIIncidentChange:    onAll,
	"GET " + views.RouteIncidentReport:  look,
	"GET " + routeAPIIncidentReport:     look,
	"GET " + views.RouteIncidentReplay:  look,
	"POST " + views.RouteIncidentReplay: look, // nothing of it is kept
	"POST " + routeAPIReplay:            look,

	"GET " + views.RouteOperations:        look,
	"POST " + views.RouteOperations:       inBulk,
	"GET " + views.RouteOperation:         look,
	"POST " + views.RouteOperationConfirm: inBulk,
	"POST " + views.RouteOperationPause:   inBulk,
	"POST " + views.RouteOperationResume:  inBulk,
	"POST " + views.RouteOperationCancel:  inBulk,

	"GET " + views.RouteSignIn:      anybody,
	"POST " + views.RouteSignIn:     anybody,
	"POST " + views.RouteProvider:   anybody,
	"GET " + views.RouteReturn:      anybody,
	"POST " + views.RouteSignOut:    look,
	"GET " + views.RouteSetUp:       anybody,
	"POST " + views.RouteSetUp:      anybody,
	"GET " + views.RouteAccount:     look,
	"POST " + views.RoutePassword:   look,
	"POST " + views.RouteEndSignIns: look,

	"GET " + views.RoutePeople:          toPeople,
	"POST " + views.RoutePeople:         toPeople,
	"GET " + views.RoutePerson:          toPeople,
	"POST " + views.RoutePersonPowers:   toPeople,
	"POST " + views.RoutePersonDisable:  toPeople,
	"POST " + views.RoutePersonEnable:   toPeople,
	"POST " + views.RoutePersonSignIns:  toPeople,
	"POST " + views.RoutePersonTokens:   toPeople,
	"POST " + views.RoutePersonPassword: toPeople,
	"POST " + views.RoutePersonRemove:   toPeople,
	"POST " + views.RouteTokenRemove:    toPeople,
	"GET " + routeAPIPeople:             toPeople,
	"POST " + routeAPIPeople:            toPeople,
	"GET " + routeAPIPerson:             toPeople,
	"POST " + routeAPIPersonPowers:      toPeople,
	"POST " + routeAPIPersonDisable:     toPeople,
	"POST " + routeAPIPersonEnable:      toPeople,
	"POST " + routeAPIPersonSignIns:     toPeople,
	"POST " + routeAPIPersonTokens:      toPeople,
	"POST " + routeAPIPersonPassword:    toPeople,
	"POST " + routeAPIPersonRemove:      toPeople,
	"GET " + routeAPITokens:             toPeople,
	"POST " + routeAPITokenRemove:       toPeople,

	"GET " + routeHealth:  anybody,
	"GET " + routeReady:   anybody,
	"GET " + routeStatic:  anybody,
	"GET " + routeMetrics: look,

	"GET " + routeDocument:          look,
	"GET " + routeAPIJobs:           look,
	"POST " + routeAPISearches:      {role: store.RoleViewer, also: store.RightReveal},
	"POST " + routeAPIJobs:          onNamed,
	"GET " + routeAPIJob:            look, // the payload is masked without the right to reveal
	"GET " + routeTransitions:       look,
	"GET " + routeAPIStream:         look,
	"POST " + routeAPIRequeue:       onJob,
	"POST " + routeAPITerm:          onJob,
	"POST " + routeAPIAmend:         onJob,
	"POST " + routeAPINote:          onJob,
	"POST " + routeAPIDuplicate:     onJob,
	"POST " + routeAPIErase:         toErase,
	"GET " + routeAPIVersions:       look,
	"GET " + routeAPIVersion:        look, // masked without the right to reveal
	"GET " + routeAPIQueues:         look,
	"POST " + routeAPIPause:         onNamed,
	"POST " + routeAPIResume:        onNamed,
	"POST " + routeAPILimit:         onNamed,
	"GET " + views.RouteAudit:       toAudit,
	"GET " + views.RouteAuditExport: toAudit,
	"GET " + routeAPIAudit:          toAudit,
	"GET " + routeAPIOperations:     look,
	"POST " + routeAPIOperations:    inBulk,
	"GET " + routeAPIOperation:      look,
	"GET " + routeAPISkipped:        look,
	"POST " + routeAPIConfirm:       inBulk,
	"POST " + routeAPIPauseOp:       inBulk,
	"POST " + routeAPIResumeOp:      inBulk,
	"POST " + routeAPICancelOp:      inBulk,
	"GET " + routeAPIWorkers:        look,
	"POST " + routeAPIDrain:         onNamed,
	"POST " + routeAPIUndrain:       onNamed,
}

// permit lets a request through to its handler when its rule allows that to
// whoever sent it. It is the only way to a handler.
func (s *Server) permit(r route, next echo.HandlerFunc) echo.HandlerFunc {
	rule, known := rules[r.method+" "+r.path]
	return func(c echo.Context) error {
		if known && rule.open {
			if err := s.metered(c, person{}); err != nil {
				return err
			}
			return next(c)
		}
		p, err := s.identify(c)
		if err != nil {
			return err
		}
		c.Set(keyPerson, p)
		c.SetRequest(c.Request().WithContext(withPowers(c.Request().Context(), p.Powers)))
		if err := s.metered(c, p); err != nil {
			return err
		}
		if p.name == "" {
			return s.askToSignIn(c)
		}
		if !known {
			return forbidden(keptByRole, "Nobody may use this address: web/rules.go has no rule for it.")
		}
		if err := s.check(c, rule, p.Powers); err != nil {
			return err
		}
		return next(c)
	}
}

// check holds powers against a rule.
func (s *Server) check(c echo.Context, r rule, p store.Powers) error {
	switch {
	case !p.Role.Includes(r.role):
		return forbidden(keptByRole, "This is for those with the role "+string(r.role)+"; you are signed in as "+string(p.Role)+".")
	case r.also != "" && !p.Has(r.also):
		return forbidden(keptByRight, "This needs the right "+string(r.also)+", which you do not have.")
	case p.Queues == nil:
		return nil
	case r.everywhere:
		return forbidden(keptByQueue, "You may act in some queues only, and this reaches further.")
	case r.ofJob:
		id, err := pathID(c, store.ErrNotFound)
		if err != nil {
			return err
		}
		job, err := s.cfg.Store.Job(c.Request().Context(), id)
		if err != nil {
			return err
		}
		return s.mayActOn(c, job.Queue)
	}
	return nil
}

// mayActOn refuses who may not act in a queue. Empty stands for what reaches
// beyond any one queue.
func (s *Server) mayActOn(c echo.Context, queue string) error {
	if p := s.who(c); p.Queues == nil || queue != "" && p.ActsOn(queue) {
		return nil
	}
	if queue == "" {
		return forbidden(keptByQueue, "You may act in some queues only, and this reaches further.")
	}
	return forbidden(keptByQueue, "You may not act in the queue "+printable(queue)+".")
}

// require refuses whoever does not have a right.
func (s *Server) require(c echo.Context, right store.Right) error {
	if !s.who(c).Has(right) {
		return forbidden(keptByRight, "This needs the right "+string(right)+", which you do not have.")
	}
	return nil
}

func forbidden(kept, why string) error {
	return &problem{Status: http.StatusForbidden, Code: "forbidden", Message: why + " Nothing was changed.", Kept: kept}
}
