package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
)

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
