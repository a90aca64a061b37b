package web

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// The routes of people and tokens.
const (
	routeAPIPeople        = "/api/v1/people"
	routeAPIPerson        = "/api/v1/people/:id"
	routeAPIPersonPowers  = "/api/v1/people/:id/powers"
	routeAPIPersonDisable = "/api/v1/people/:id/disable"
	routeAPIPersonEnable  = "/api/v1/people/:id/enable"
	routeAPIPersonSignIns = "/api/v1/people/:id/sign-outs"
	routeAPIPersonTokens  = "/api/v1/people/:id/tokens"
	routeAPIPersonWord    = "/api/v1/people/:id/password"
	routeAPIPersonRemove  = "/api/v1/people/:id/remove"
	routeAPITokens        = "/api/v1/tokens"
	routeAPITokenRemove   = "/api/v1/tokens/:id/remove"
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
		{path: views.RoutePersonWord, method: post, handler: s.setWord, what: "set somebody's password, bound to the revision seen"},
		{path: views.RoutePersonRemove, method: post, handler: s.removePerson, what: "remove an account, bound to the revision seen"},
		{path: views.RouteTokenRemove, method: post, handler: s.removeToken, what: "make a token invalid"},

		{path: routeAPIPeople, method: get, handler: s.apiPeople, what: "everybody who may sign in"},
		{path: routeAPIPeople, method: post, handler: s.apiAddPerson, what: "add somebody who signs in with a password"},
		{path: routeAPIPerson, method: get, handler: s.apiPerson, what: "one account with its sessions"},
		{path: routeAPIPersonPowers, method: post, handler: s.apiPowers, what: "change what somebody may do, bound to the revision seen"},
		{path: routeAPIPersonDisable, method: post, handler: s.apiChangeAccount((*store.Store).Disable), what: "disable an account, bound to the revision seen"},
		{path: routeAPIPersonEnable, method: post, handler: s.apiChangeAccount((*store.Store).Enable), what: "enable an account, bound to the revision seen"},
		{path: routeAPIPersonSignIns, method: post, handler: s.apiSignOuts, what: "end sessions of somebody"},
		{path: routeAPIPersonWord, method: post, handler: s.apiSetWord, what: "set somebody's password, bound to the revision seen"},
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

type powersJSON struct {
	Role   string   `json:"role"`
	Rights []string `json:"rights"`
	Queues []string `json:"queues"` // null for all
}

func powersOfJSON(p store.Powers) powersJSON {
	out := powersJSON{Role: string(p.Role), Rights: []string{}, Queues: p.Queues}
	for _, r := range p.Rights {
		out.Rights = append(out.Rights, string(r))
	}
	return out
}

type personJSON struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	powersJSON
	Revision   int64         `json:"revision"`
	SignsIn    string        `json:"signs_in_with"` // password, or the provider
	CreatedAt  *string       `json:"created_at"`
	SignedAt   *string       `json:"signed_in_at"`
	DisabledAt *string       `json:"disabled_at"`
	SignIns    *[]signInJSON `json:"sign_ins,omitempty"`
}

type signInJSON struct {
	ID        string  `json:"id"`
	CreatedAt *string `json:"created_at"`
	SeenAt    *string `json:"seen_at"`
	ExpiresAt *string `json:"expires_at"`
	Address   string  `json:"address"`
	Agent     string  `json:"agent"`
}

func personOf(p store.Person) personJSON {
	out := personJSON{ID: decimal(p.ID), Name: p.Name, powersJSON: powersOfJSON(p.Powers), Revision: p.Revision, SignsIn: "password",
		CreatedAt: orNullTime(p.CreatedAt), SignedAt: orNullTime(p.SignedAt), DisabledAt: orNullTime(p.DisabledAt)}
	if !p.Local {
		out.SignsIn = p.Issuer
	}
	return out
}

// tokenJSON is a token; its powers are what holds, within what its person may do
// now.
type tokenJSON struct {
	ID     string `json:"id"`
	Person string `json:"person"` // the account's id
	ActsAs string `json:"acts_as"`
	powersJSON
	CreatedAt *string `json:"created_at"`
	ExpiresAt *string `json:"expires_at"`
	UsedAt    *string `json:"used_at"` // to a minute; null when it never was
}

func tokenOf(t store.Token) tokenJSON {
	return tokenJSON{ID: decimal(t.ID), Person: decimal(t.Person.ID), ActsAs: t.Actor(), powersJSON: powersOfJSON(t.Holds()),
		CreatedAt: orNullTime(t.CreatedAt), ExpiresAt: orNullTime(t.ExpiresAt), UsedAt: orNullTime(t.UsedAt)}
}

func (s *Server) apiPeople(c echo.Context) error {
	if _, err := query(c, []string{}...); err != nil {
		return err
	}
	all, err := s.cfg.Store.People(c.Request().Context())
	if err != nil {
		return err
	}
	people := []personJSON{}
	for _, p := range all {
		people = append(people, personOf(p))
	}
	return sendJSON(c, http.StatusOK, map[string]any{"people": people})
}

func (s *Server) apiPerson(c echo.Context) error {
	if _, err := query(c, []string{}...); err != nil {
		return err
	}
	of, err := s.accountOf(c)
	if err != nil {
		return err
	}
	all, err := s.cfg.Store.SignIns(c.Request().Context(), of.ID)
	if err != nil {
		return err
	}
	out, ins := personOf(of), []signInJSON{}
	for _, in := range all {
		ins = append(ins, signInJSON{in.TokenHash, orNullTime(in.CreatedAt), orNullTime(in.SeenAt), orNullTime(in.ExpiresAt), in.Address, in.Agent})
	}
	out.SignIns = &ins
	return sendJSON(c, http.StatusOK, out)
}

// powersFields reads powers.
func powersFields(p *store.Powers, f fields) fields {
	f["role"] = func(name string, raw json.RawMessage) error { return text((*string)(&p.Role))(name, raw) }
	f["queues"] = texts(&p.Queues)
	f["rights"] = func(name string, raw json.RawMessage) error {
		var words []string
		if err := texts(&words)(name, raw); err != nil {
			return err
		}
		p.Rights = nil
		for _, w := range words {
			p.Rights = append(p.Rights, store.Right(w))
		}
		return nil
	}
	return f
}

// readSeen reads a body that names the revision seen of somebody else's account.
func (s *Server) readSeen(c echo.Context, f fields) (store.SeenPerson, error) {
	of, err := s.othersAccount(c)
	if err != nil {
		return store.SeenPerson{}, err
	}
	who := store.SeenPerson{Name: of.Name, Elsewhere: s.proxyNamesAdmins()}
	f["seen"] = object(fields{"revision": exact(&who.Revision)})
	if err := readJSON(c, f); err != nil {
		return store.SeenPerson{}, err
	}
	if who.Revision == 0 {
		return store.SeenPerson{}, &store.InvalidError{Field: "seen.revision", Message: "is required: the revision of the account that you looked at"}
	}
	return who, nil
}

func (s *Server) apiAddPerson(c echo.Context) error {
	var name, password string
	var powers store.Powers
	if err := readJSON(c, powersFields(&powers, fields{"name": text(&name), "password": text(&password)})); err != nil {
		return err
	}
	p, err := s.newPerson(c, name, password, powers)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", s.urls.Base+routeAPIPeople+"/"+decimal(p.ID))
	return sendJSON(c, http.StatusCreated, personOf(p))
}

func (s *Server) apiSetWord(c echo.Context) error {
	var password string
	who, err := s.readSeen(c, fields{"password": text(&password)})
	if err != nil {
		return err
	}
	hash, err := s.hashed(c, who.Name, password)
	if err != nil {
		return err
	}
	p, err := s.cfg.Store.SetPassword(c.Request().Context(), s.actor(c), who, hash)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, personOf(p))
}

func (s *Server) apiRemovePerson(c echo.Context) error {
	who, err := s.readSeen(c, fields{})
	if err != nil {
		return err
	}
	p, err := s.cfg.Store.RemovePerson(c.Request().Context(), s.actor(c), who)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]string{"removed": p.Name})
}

func (s *Server) apiPowers(c echo.Context) error {
	var powers store.Powers
	who, err := s.readSeen(c, powersFields(&powers, fields{}))
	if err != nil {
		return err
	}
	p, err := s.cfg.Store.SetPowers(c.Request().Context(), s.actor(c), who, powers)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, personOf(p))
}

func (s *Server) apiChangeAccount(change changePerson) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := s.readSeen(c, fields{})
		if err != nil {
			return err
		}
		p, err := change(s.cfg.Store, c.Request().Context(), s.actor(c), who)
		if err != nil {
			return err
		}
		return sendJSON(c, http.StatusOK, personOf(p))
	}
}

func (s *Server) apiSignOuts(c echo.Context) error {
	of, err := s.accountOf(c)
	if err != nil {
		return err
	}
	var one string
	if err := readJSON(c, fields{"sign_in": text(&one)}); err != nil {
		return err
	}
	ended, err := s.cfg.Store.EndSignInsOf(c.Request().Context(), s.actor(c), of, one, s.who(c).session)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]int64{"ended": ended})
}

func (s *Server) apiTokens(c echo.Context) error {
	if _, err := query(c, []string{}...); err != nil {
		return err
	}
	all, err := s.cfg.Store.Tokens(c.Request().Context(), 0)
	if err != nil {
		return err
	}
	tokens := []tokenJSON{}
	for _, t := range all {
		tokens = append(tokens, tokenOf(t))
	}
	return sendJSON(c, http.StatusOK, map[string]any{"tokens": tokens})
}

func (s *Server) apiMakeToken(c echo.Context) error {
	of, err := s.accountOf(c)
	if err != nil {
		return err
	}
	var powers store.Powers
	var name string
	days := 90
	if err := readJSON(c, powersFields(&powers, fields{"name": text(&name), "days": integer(&days, 1, int64(maxDays))})); err != nil {
		return err
	}
	token, as, err := s.newToken(c, of, name, powers, days)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusCreated, map[string]string{"token": token, "acts_as": as})
}

func (s *Server) apiRemoveToken(c echo.Context) error {
	if err := readJSON(c, fields{}); err != nil {
		return err
	}
	id, ok := parseID(c.Param("id"))
	if !ok {
		return store.ErrNoToken
	}
	t, err := s.cfg.Store.RemoveTokenOf(c.Request().Context(), s.actor(c), id)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]string{"removed": t.Actor()})
}
