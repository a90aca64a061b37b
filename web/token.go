package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web/access"
)

// How often a token that is none may come from one address before it has to wait.
const triesOfTokens = 30

// ofToken finds out for whom a program acts. What is not a valid token is
// refused, whatever else the request holds.
func (s *Server) ofToken(c echo.Context) (person, error) {
	scheme, token, _ := strings.Cut(c.Request().Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	ctx := c.Request().Context()
	if strings.EqualFold(scheme, "Bearer") && access.IsToken(token) {
		t, err := s.cfg.Store.UseToken(ctx, access.Hash(token))
		if err == nil {
			return person{name: t.Actor(), Powers: t.Holds(), id: t.Person.ID, token: t.ID}, nil
		}
		if !errors.Is(err, store.ErrNoToken) {
			return person{}, err
		}
	}
	wait, err := s.cfg.Store.TryNow(ctx, store.Brake{Key: "token:" + network(c.RealIP()), Free: triesOfTokens, Most: time.Minute})
	if err != nil {
		return person{}, err
	}
	if wait > 0 {
		return person{}, &problem{Status: http.StatusTooManyRequests, Code: "too_many_tries", Message: "Too many tokens that are not valid came from your address. Wait " + waitText(wait) + ", then try again.", Retry: wait}
	}
	return person{}, nil
}
