package web

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/redact"
	"github.com/fenceline/fenceline/store/wire"
)

// apiVersions lists the versions of a job's args that are kept, and holds none.
func (s *Server) apiVersions(c echo.Context) error {
	id, err := apiID(c, "a job")
	if err != nil {
		return err
	}
	if _, err := query(c); err != nil {
		return err
	}
	ctx := c.Request().Context()
	job, err := s.cfg.Store.Job(ctx, id)
	if err != nil {
		return err
	}
	kept, err := s.cfg.Store.ArgsVersions(ctx, id)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.ArgsVersionsOf(job, kept))
}

// apiVersion shows one version of a job's args, under the rules of its payload.
func (s *Server) apiVersion(c echo.Context) error {
	id, err := apiID(c, "a job")
	if err != nil {
		return err
	}
	version, ok := parseID(c.Param("version"))
	if !ok {
		return &store.InvalidError{Field: "version", Message: "must be the number of a version of the job's args"}
	}
	if _, err := query(c); err != nil {
		return err
	}
	job, err := s.cfg.Store.Job(c.Request().Context(), id)
	if err != nil {
		return err
	}
	args, err := s.argsFor(c, job, version)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, struct {
		Version int64           `json:"version"`
		Args    json.RawMessage `json:"args"`
	}{version, args})
}

// argsFor is payloadFor of one version of the args.
func (s *Server) argsFor(c echo.Context, j store.Job, version int64) (json.RawMessage, error) {
	ctx, p := c.Request().Context(), s.who(c)
	switch {
	case s.cfg.SignIn == nil:
		return s.cfg.Store.ShowArgs(ctx, j.ID, version, redact.Revealed)
	case p.Has(store.RightReveal) && p.ActsOn(j.Queue) && !foreign(c.Request()):
		return s.cfg.Store.RevealArgs(ctx, j.ID, version, p.name)
	}
	return s.cfg.Store.ShowArgs(ctx, j.ID, version, redact.Masked)
}
