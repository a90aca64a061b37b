package views

import (
	"maps"
	"net/url"
	"slices"

	"github.com/fenceline/fenceline/store"
)

// The routes of signing in.
const (
	RouteSignIn     = "/sign-in"
	RouteProvider   = "/sign-in/provider" // POST
	RouteReturn     = "/sign-in/return"   // where the provider leads back to
	RouteSignOut    = "/sign-out"         // POST
	RouteSetUp      = "/set-up"
	RouteAccount    = "/account"
	RoutePassword   = "/account/password" // POST
	RouteEndSignIns = "/account/sign-ins" // POST
)

// Their fields.
const (
	FieldPassword    = "password"
	FieldNewPassword = "new-password"
	FieldCode        = "code"      // set-up: the one-time code
	FieldNext        = "next"      // sign-in: where to go on, a path of the console
	FieldKeptPath    = "kept-path" // sign-in: to where a form was sent
	FieldKeptForm    = "kept-form" // sign-in: what it held, encoded as a query
	FieldSignIn      = "sign-in"   // account: which sign-in is ended; empty for all others
)

// SignIn returns the address of the sign-in page that leads on to a path.
func (u URLs) SignIn(next string) string {
	if next == "" || next == RouteHome {
		return u.At(RouteSignIn)
	}
	return withQuery(u.At(RouteSignIn), url.Values{FieldNext: {next}})
}

// Kept is a form that was sent by somebody who was not signed in any more.
type Kept struct {
	Path string // to where; empty when nothing is kept
	Form url.Values
}

// names are the names of its fields, in order.
func (k Kept) names() []string { return slices.Sorted(maps.Keys(k.Form)) }

// SignInPage asks people who they are.
type SignInPage struct {
	Frame
	Passwords bool   // with a name and a password
	Provider  string // through the provider of that name; empty without one
	Name      string // as it was typed
	Next      string // where to go on
	Problem   string // why the last try failed
	Kept      Kept
}

// ToProviderPage leads on to the provider.
type ToProviderPage struct {
	Frame
	Provider string
	To       string
}

// SetUpPage makes the first account.
type SetUpPage struct {
	Frame
	Name    string
	Code    string
	Problem string
}

// ResendPage asks whether a form that was kept is sent now.
type ResendPage struct {
	Frame
	Kept Kept
}

// AccountPage is what a person sees of their own account.
type AccountPage struct {
	Frame
	Person  store.Person
	SignIns []store.SignIn
	Current string // the hash of this browser's
	Problem string
	Changed bool // the password was changed just now
}
