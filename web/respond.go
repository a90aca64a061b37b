package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store/wire"
	"github.com/fenceline/fenceline/views"
)

// page renders a component whole and only then sends it: if it fails midway,
// nothing of it was sent and the answer is an error page.
func page(c echo.Context, status int, component templ.Component) error {
	var b bytes.Buffer
	if err := component.Render(c.Request().Context(), &b); err != nil {
		return fmt.Errorf("render a page: %w", err)
	}
	return c.HTMLBlob(status, b.Bytes())
}

// frame is what every page carries.
func (s *Server) frame(c echo.Context) views.Frame {
	p := s.who(c)
	return views.Frame{
		URLs: s.urls, Asset: s.asset, Actor: p.name, SignedIn: p.name != "" && s.cfg.SignIn != nil, Limits: limits(p.Powers),
		Done: views.KnownFlash(c.QueryParam(views.ParamDone)),
	}
}

// sendJSON writes an answer of the API. Texts keep their characters: nosniff
// and the content type keep a browser from reading them as markup.
func sendJSON(c echo.Context, status int, answer any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(answer); err != nil {
		return fmt.Errorf("write an answer as JSON: %w", err)
	}
	return c.JSONBlob(status, b.Bytes())
}

// answer says what went wrong in the reader's form. If the answer had begun,
// the connection is cut instead: half an answer must not look whole.
func (s *Server) answer(c echo.Context, p *problem) {
	if c.Response().Committed {
		if p.Status != statusGone {
			panic(http.ErrAbortHandler)
		}
		return
	}
	if p.Status == statusGone {
		c.NoContent(http.StatusServiceUnavailable) // nobody reads it
		return
	}
	if p.Retry > 0 {
		retryAfter(c, p.Retry)
	}
	var err error
	switch {
	case forPrograms(c):
		err = sendJSON(c, p.Status, p.body())
	case p.Status == http.StatusMisdirectedRequest, inPlainText[c.Request().URL.Path]:
		err = c.String(p.Status, p.Message+"\n")
	default:
		err = s.errorPage(c, p)
	}
	if err != nil && !c.Response().Committed {
		s.cfg.Log.Error("answer", "request", c.Get(keyRequestID), "error", err)
		c.String(p.Status, p.Message+"\n")
	}
}

// retryAfter says in a header when it is worth trying again.
func retryAfter(c echo.Context, wait time.Duration) {
	c.Response().Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

func (s *Server) errorPage(c echo.Context, p *problem) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.Join(err, fmt.Errorf("the error page itself failed: %w", &panicked{value: r}))
		}
	}()
	id, _ := c.Get(keyRequestID).(string)
	frame := s.frame(c)
	frame.Done = ""
	show := views.ErrorPage{Frame: frame, Status: p.Status, Message: p.Message, Field: p.Field, RequestID: id}
	if r := c.Request(); p.Retry > 0 && readOnly(r.Method) {
		if same := localPath(r.URL.RequestURI()); same != "" {
			show.Again = s.urls.Base + same
		}
	}
	return page(c, p.Status, views.Error(show))
}

// errorBody is every error of the API.
type errorBody struct {
	Error struct {
		Code      string          `json:"code"`
		Message   string          `json:"message"`
		Field     string          `json:"field,omitempty"`
		Job       *wire.Job       `json:"job,omitempty"`
		Control   *wire.Control   `json:"control,omitempty"`
		Operation *wire.Operation `json:"operation,omitempty"`
		Incident  *wire.Incident  `json:"incident,omitempty"`
		Person    *wire.Person    `json:"person,omitempty"`
	} `json:"error"`
}

func (p *problem) body() errorBody {
	var b errorBody
	b.Error.Code, b.Error.Message, b.Error.Field = p.Code, p.Message, p.Field
	if p.Job != nil {
		j := wire.JobOf(*p.Job)
		b.Error.Job = &j
	}
	if p.Control != nil {
		set := wire.ControlOf(*p.Control, p.At)
		b.Error.Control = &set
	}
	if p.Operation != nil {
		o := wire.OperationOf(*p.Operation)
		b.Error.Operation = &o
	}
	if p.Incident != nil {
		i := wire.IncidentOf(*p.Incident)
		b.Error.Incident = &i
	}
	if p.Person != nil {
		who := wire.PersonOf(*p.Person)
		b.Error.Person = &who
	}
	return b
}
