package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// reveal shows a payload, or one version of the args, or one part of it as a
// download. The store records who looked before it hands anything out.
func (s *Server) reveal(c echo.Context) error {
	id, err := pathID(c, store.ErrNotFound)
	if err != nil {
		return err
	}
	sent, err := form(c)
	if err != nil {
		return err
	}
	as, part := sent.Get(views.FieldAs), sent.Get(views.FieldPart)
	version, err := checkReveal(as, part, sent.Get(views.FieldVersion))
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p := views.RevealPage{Frame: s.frame(c), Version: version}
	if p.Job, err = s.cfg.Store.Job(ctx, id); err != nil {
		return err
	}
	if version != 0 {
		p.Payload.Args, err = s.cfg.Store.RevealArgs(ctx, id, version, s.actor(c))
	} else {
		p.Payload, err = s.cfg.Store.Reveal(ctx, id, s.actor(c))
	}
	if err != nil {
		return err
	}
	if as == views.AsFile {
		return sendPart(c, id, part, p)
	}
	if p.Now, err = s.clock.now(ctx); err != nil {
		return err
	}
	return page(c, http.StatusOK, views.Reveal(p))
}

// checkReveal reads the version that is asked for, 0 for what the job has now.
func checkReveal(as, part, version string) (int64, error) {
	n, ok := parseID(version)
	switch {
	case as != views.AsPage && as != views.AsFile && as != "":
		return 0, &store.InvalidError{Field: views.FieldAs, Message: "must be page or file"}
	case as == views.AsFile && part != "args" && part != "result":
		return 0, &store.InvalidError{Field: views.FieldPart, Message: "must be args or result"}
	case version != "" && (!ok || part == "result"):
		return 0, &store.InvalidError{Field: views.FieldVersion, Message: "must be the number of a version of the job's args"}
	}
	return n, nil
}

func sendPart(c echo.Context, id int64, part string, p views.RevealPage) error {
	raw, name := p.Payload.Args, part
	if part == "result" {
		raw = p.Payload.Result
	} else if p.Version != 0 {
		name += "-" + decimal(p.Version)
	}
	if raw == nil {
		return notFound("This job has no " + part + ".")
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="job-`+decimal(id)+`-`+name+`.json"`)
	return c.Blob(http.StatusOK, "application/json", raw)
}
