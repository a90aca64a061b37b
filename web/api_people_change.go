package web

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

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
	who := store.SeenPerson{Name: of.Name}
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
	return sendJSON(c, http.StatusCreated, wire.PersonOf(p))
}

func (s *Server) apiSetPassword(c echo.Context) error {
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
	return sendJSON(c, http.StatusOK, wire.PersonOf(p))
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
	return sendJSON(c, http.StatusOK, wire.PersonOf(p))
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
		return sendJSON(c, http.StatusOK, wire.PersonOf(p))
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
