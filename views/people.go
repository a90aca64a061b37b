package views

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// The addresses of people and tokens, for admins.
const (
	RoutePeople         = "/people"
	RoutePerson         = "/people/:id"
	RoutePersonPowers   = "/people/:id/powers"    // POST
	RoutePersonDisable  = "/people/:id/disable"   // POST
	RoutePersonEnable   = "/people/:id/enable"    // POST
	RoutePersonSignIns  = "/people/:id/sign-outs" // POST
	RoutePersonTokens   = "/people/:id/tokens"    // POST
	RoutePersonPassword = "/people/:id/password"  // POST
	RoutePersonRemove   = "/people/:id/remove"    // POST
	RouteTokenRemove    = "/tokens/:id/remove"    // POST
)

// Their fields. A right has its own name.
const (
	FieldRole   = "role"
	FieldQueues = "queues" // a name a line; nothing for all
	FieldDays   = "days"   // token: how long it is valid
)

// PeoplePage is the page of everybody who may sign in, and of all tokens.
type PeoplePage struct {
	Frame
	People []store.Person
	Tokens []store.Token

	Passwords bool                // people sign in with passwords, so that accounts can be added
	Problem   *store.InvalidError // which field of a new account cannot be accepted
	Typed     url.Values          // its form as it was typed; nil for none
}

// PersonPage is the page of one account.
type PersonPage struct {
	Frame
	Person  store.Person
	SignIns []store.SignIn
	Tokens  []store.Token
	Own     bool   // the reader's own account
	Current string // the hash of the reader's own session

	Conflict *store.PersonConflictError // why a change was refused
	Problem  *store.InvalidError        // or which field
	Powers   url.Values                 // the form of powers as it was typed; nil for what holds
	Token    url.Values                 // the form of a token, likewise
	Password bool                       // the problem is one of another password
	Removing bool                       // the problem is one of a removal
	Made     string                     // the token that was made just now
	MadeAs   string
}

// Person is the address of an account.
func (u URLs) Person(id int64) string { return u.of(RoutePerson, id) }

// OwnAccount says why admins do not change what they themselves may do.
const OwnAccount = "This is your own account: another admin changes what it may do, or whoever reaches the database by fenceline user."

func signsInWith(p store.Person) string {
	if p.Local {
		return "password"
	}
	return p.Issuer
}

func rightsText(p store.Powers) string {
	if p.Role == store.RoleAdmin {
		return "all"
	}
	words := make([]string, len(p.Rights))
	for i, r := range p.Rights {
		words[i] = string(r)
	}
	return strings.Join(words, ", ")
}

// typed is the value of a field of powers: as it was typed, or as it holds.
func (p PersonPage) typed(field string) string {
	if p.Powers != nil {
		return p.Powers.Get(field)
	}
	switch field {
	case FieldRole:
		return string(p.Person.Role)
	case FieldQueues:
		return strings.Join(p.Person.Queues, "\n")
	}
	if slices.Contains(p.Person.Rights, store.Right(field)) {
		return "on"
	}
	return ""
}

// wanted is the value of a field of a token's form.
func (p PersonPage) wanted(field string) string {
	switch {
	case p.Token != nil:
		return p.Token.Get(field)
	case field == FieldRole:
		return string(store.RoleViewer)
	case field == FieldDays:
		return "90"
	}
	return ""
}

// typed is the value of a field of a new account's form.
func (p PeoplePage) typed(field string) string {
	if p.Typed == nil && field == FieldRole {
		return string(store.RoleViewer)
	}
	return p.Typed.Get(field)
}

func (p PeoplePage) wrong(field string) bool { return p.Problem != nil && p.Problem.Field == field }

func (p PersonPage) wrong(form url.Values, field string) bool {
	return form != nil && p.Problem != nil && p.Problem.Field == field
}

func tokenState(t store.Token, now time.Time) string {
	switch {
	case !t.ExpiresAt.After(now):
		return "expired"
	case !t.Person.DisabledAt.IsZero():
		return "disabled with its person"
	}
	return ""
}

var rightsToGive = []struct {
	right store.Right
	does  string
}{{store.RightReveal, "sees payloads, recorded"}, {store.RightBulk, "acts on many jobs at once"}}

func roleHint(r store.Role) string {
	return map[store.Role]string{store.RoleViewer: " – looks", store.RoleOperator: " – acts on jobs, queues and workers", store.RoleAdmin: " – everything, people included"}[r]
}

func disableRoute(p store.Person) string {
	if p.DisabledAt.IsZero() {
		return RoutePersonDisable
	}
	return RoutePersonEnable
}

// mayText says what powers allow, of somebody else than the reader.
func mayText(p store.Powers) string {
	limits := &Limits{Powers: p}
	if p.Role == store.RoleAdmin && p.Queues == nil {
		limits = nil
	}
	return strings.NewReplacer("You may", "May", "shown to you when you ask", "shown when they ask").Replace(powersText(limits))
}
