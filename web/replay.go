package web

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

const routeAPIReplay = "/api/v1/incidents/replay"

// maxReportForm bounds the form that holds a report's file.
const maxReportForm = views.MaxIncidentReport + 64<<10

func (s *Server) replayPage(c echo.Context, status int, p views.ReplayPage) (err error) {
	p.Frame = s.frame(c)
	if p.Now, err = s.clock.now(c.Request().Context()); err != nil {
		return err
	}
	return page(c, status, views.Replay(p))
}

// replay asks for a report.
func (s *Server) replay(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	return s.replayPage(c, http.StatusOK, views.ReplayPage{})
}

// replayReport tells the report of a file. Nothing is stored.
func (s *Server) replayReport(c echo.Context) error {
	r, err := readReportForm(c)
	var p views.ReplayPage
	switch {
	case err == nil:
		p.Report = &r
		return s.replayPage(c, http.StatusOK, p)
	case errors.As(err, &p.Problem):
		return s.replayPage(c, http.StatusUnprocessableEntity, p)
	}
	return err
}

// readReportForm reads a form that holds one file, as it comes in.
func readReportForm(c echo.Context) (store.IncidentReport, error) {
	r := c.Request()
	if err := expectType(r, "multipart/form-data"); err != nil {
		return store.IncidentReport{}, err
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxReportForm)
	parts, err := r.MultipartReader()
	if err != nil {
		return store.IncidentReport{}, formError(err)
	}
	part, err := parts.NextRawPart()
	switch {
	case errors.Is(err, io.EOF):
		return store.IncidentReport{}, &store.InvalidError{Field: views.FieldFile, Message: "is required"}
	case err != nil:
		return store.IncidentReport{}, formError(err)
	case part.FormName() != views.FieldFile:
		return store.IncidentReport{}, &store.InvalidError{Field: printable(part.FormName()), Message: "is not a field of this form"}
	}
	report, err := readReportPart(part)
	if err != nil {
		return store.IncidentReport{}, err
	}
	switch next, err := parts.NextRawPart(); {
	case err == nil:
		return store.IncidentReport{}, &store.InvalidError{Field: printable(next.FormName()), Message: "is one field too many"}
	case !errors.Is(err, io.EOF):
		return store.IncidentReport{}, formError(err)
	}
	return report, nil
}

// readReportPart tells a form in which no file was chosen from a file that is no
// report.
func readReportPart(part *multipart.Part) (store.IncidentReport, error) {
	first := make([]byte, 1)
	n, err := io.ReadFull(part, first)
	if n == 0 && errors.Is(err, io.EOF) {
		return store.IncidentReport{}, &store.InvalidError{Field: views.FieldFile, Message: "is required: choose a file that is not empty"}
	}
	if err != nil {
		return store.IncidentReport{}, formError(err)
	}
	report, err := views.ReadIncidentReport(io.MultiReader(strings.NewReader(string(first)), part))
	var invalid *store.InvalidError
	if err != nil && !errors.As(err, &invalid) {
		return store.IncidentReport{}, formError(err)
	}
	return report, err
}

// apiReplay reads a report and sends what was read: it is what this program would
// have exported, with the drawings made anew.
func (s *Server) apiReplay(c echo.Context) error {
	if err := expectType(c.Request(), "application/json"); err != nil {
		return err
	}
	if _, err := query(c); err != nil {
		return err
	}
	report, err := views.ReadIncidentReport(http.MaxBytesReader(c.Response(), c.Request().Body, maxReportForm))
	var invalid *store.InvalidError
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return sendJSON(c, http.StatusOK, views.IncidentReportOf(report))
	case errors.As(err, &invalid), errors.As(err, &large):
		return err
	}
	return &problem{Status: http.StatusBadRequest, Code: "invalid_body", Message: "The body could not be read to its end.", cause: err}
}
