package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store/wire"
	"github.com/fenceline/fenceline/views"
)

const routeAPIVerification = "/api/v1/verification"

func (s *Server) verification(c echo.Context) (err error) {
	p := views.VerificationPage{}
	if p.Frame, err = s.liveFrame(c, views.TopicVerification); err != nil {
		return err
	}
	if p.View, err = s.cfg.Store.Verification(c.Request().Context()); err != nil {
		return err
	}
	if p.Now, err = s.clock.now(c.Request().Context()); err != nil {
		return err
	}
	return page(c, http.StatusOK, views.Verification(p))
}

func readVerification(ctx context.Context, s *Server) (_ []part, err error) {
	p := views.VerificationPage{Frame: s.patchFrame(ctx)}
	if p.View, err = s.cfg.Store.Verification(ctx); err != nil {
		return nil, err
	}
	if p.Now, err = s.clock.now(ctx); err != nil {
		return nil, err
	}
	return rendered(ctx, views.VerificationParts(p))
}

// apiVerification answers with what [wire.VerificationOf] shows, as the command
// line does.
func (s *Server) apiVerification(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	v, err := s.cfg.Store.Verification(c.Request().Context())
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.VerificationOf(v))
}
