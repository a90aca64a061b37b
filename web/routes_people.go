package web

import (
	"net/http"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// The routes of people and tokens.
const (
	routeAPIPeople         = "/api/v1/people"
	routeAPIPerson         = "/api/v1/people/:id"
	routeAPIPersonPowers   = "/api/v1/people/:id/powers"
	routeAPIPersonDisable  = "/api/v1/people/:id/disable"
	routeAPIPersonEnable   = "/api/v1/people/:id/enable"
	routeAPIPersonSignIns  = "/api/v1/people/:id/sign-outs"
	routeAPIPersonTokens   = "/api/v1/people/:id/tokens"
	routeAPIPersonPassword = "/api/v1/people/:id/password"
	routeAPIPersonRemove   = "/api/v1/people/:id/remove"
	routeAPITokens         = "/api/v1/tokens"
	routeAPITokenRemove    = "/api/v1/tokens/:id/remove"
)

func (s *Server) peopleRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	all := []route{
		{path: views.RoutePeople, method: get, handler: s.people, what: "everybody who may sign in, and all tokens"},
		{path: views.RoutePeople, method: post, handler: s.addPerson, what: "add somebody who signs in with a password"},
		{path: views.RoutePerson, method: get, handler: s.person, what: "one account: what it may do, its sessions and tokens"},
		{path: views.RoutePersonPowers, method: post, handler: s.setPowers, what: "change what somebody may do, bound to the revision seen"},
		{path: views.RoutePersonDisable, method: post, handler: s.changeAccount((*store.Store).Disable, views.FlashDisabled), what: "disable an account, bound to the revision seen"},
		{path: views.RoutePersonEnable, method: post, handler: s.changeAccount((*store.Store).Enable, views.FlashEnabled), what: "enable an account, bound to the revision seen"},
		{path: views.RoutePersonSignIns, method: post, handler: s.signOutPerson, what: "end sessions of somebody"},
		{path: views.RoutePersonTokens, method: post, handler: s.makeToken, what: "make a token and show it once"},
		{path: views.RoutePersonPassword, method: post, handler: s.setPassword, what: "set somebody's password, bound to the revision seen"},
		{path: views.RoutePersonRemove, method: post, handler: s.removePerson, what: "remove an account, bound to the revision seen"},
		{path: views.RouteTokenRemove, method: post, handler: s.removeToken, what: "make a token invalid"},

		{path: routeAPIPeople, method: get, handler: s.apiPeople, what: "everybody who may sign in"},
		{path: routeAPIPeople, method: post, handler: s.apiAddPerson, what: "add somebody who signs in with a password"},
		{path: routeAPIPerson, method: get, handler: s.apiPerson, what: "one account with its sessions"},
		{path: routeAPIPersonPowers, method: post, handler: s.apiPowers, what: "change what somebody may do, bound to the revision seen"},
		{path: routeAPIPersonDisable, method: post, handler: s.apiChangeAccount((*store.Store).Disable), what: "disable an account, bound to the revision seen"},
		{path: routeAPIPersonEnable, method: post, handler: s.apiChangeAccount((*store.Store).Enable), what: "enable an account, bound to the revision seen"},
		{path: routeAPIPersonSignIns, method: post, handler: s.apiSignOuts, what: "end sessions of somebody"},
		{path: routeAPIPersonPassword, method: post, handler: s.apiSetPassword, what: "set somebody's password, bound to the revision seen"},
		{path: routeAPIPersonRemove, method: post, handler: s.apiRemovePerson, what: "remove an account, bound to the revision seen"},
		{path: routeAPITokens, method: get, handler: s.apiTokens, what: "all tokens, and when each was used last"},
		{path: routeAPIPersonTokens, method: post, handler: s.apiMakeToken, what: "make a token; the answer alone holds it"},
		{path: routeAPITokenRemove, method: post, handler: s.apiRemoveToken, what: "make a token invalid"},
	}
	for i := range all {
		all[i].handler = s.withSignIn(all[i].handler)
	}
	return all
}
