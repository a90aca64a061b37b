package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
)

// problem is an answer that says why a request was not served. As an error it
// can be returned by a handler directly.
type problem struct {
	Status    int
	Code      string // stable, for programs
	Message   string // a sentence for a person; never an internal error's text
	Field     string // the field or parameter at fault; empty when there is none
	Job       *store.Job
	Control   *store.Control
	Operation *store.Operation
	Incident  *store.Incident
	Person    *store.Person
	At        time.Time     // the database's clock when Control was read
	Retry     time.Duration // when it is worth trying again; 0 when it is not
	Kept      string        // what kept the person from it, for the audit; empty for anything but a refusal of rights
	cause     error
}

func (p *problem) Error() string { return p.Code + ": " + p.Message }
func (p *problem) Unwrap() error { return p.cause }

// statusGone is what the log shows for a client that left before its answer.
const statusGone = 499

// absent are the errors that say there is no such thing, and how a person is told.
var absent = []struct {
	is      error
	message string
}{
	{store.ErrNotFound, "There is no such job."},
	{store.ErrNoVersion, "There is no such version of this job’s args, or it is kept no longer."},
	{store.ErrNoOperation, "There is no such operation, or it ended more than 30 days ago."},
	{store.ErrNoIncident, "There is no such incident."},
	{store.ErrNoPerson, "There is no such account."},
	{store.ErrNoToken, "There is no such token: it was revoked, or expired long ago."},
	{store.ErrNoSearch, "There is no such search, or it is kept no longer."},
	{store.ErrNoWorker, "There is no such worker: it never was, or it ended more than a week ago."},
}

// explain is the one table from errors to answers. What it does not know is a
// fault of ours: 500, and the log has the details under the request's id.
func explain(err error) *problem {
	var (
		known     *problem
		invalid   *store.InvalidError
		syntax    *search.SyntaxError
		key       *store.KeyConflictError
		conflict  *store.ConflictError
		control   *store.ControlConflictError
		operation *store.OperationConflictError
		incident  *store.IncidentConflictError
		person    *store.PersonConflictError
		tooLarge  *http.MaxBytesError
		routed    *echo.HTTPError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &person):
		return &problem{Status: http.StatusConflict, Code: string(person.Why), Message: person.Error(), Person: &person.Person}
	case errors.As(err, &incident):
		return &problem{Status: http.StatusConflict, Code: string(incident.Why), Message: incident.Error(), Incident: &incident.Incident}
	case errors.As(err, &operation):
		return &problem{Status: http.StatusConflict, Code: string(operation.Why), Message: operation.Error(), Operation: &operation.Operation}
	case errors.As(err, &syntax):
		return &problem{Status: http.StatusUnprocessableEntity, Code: "invalid", Message: syntax.Error(), Field: "q"}
	case errors.As(err, &invalid):
		return &problem{Status: http.StatusUnprocessableEntity, Code: "invalid", Message: invalid.Message, Field: invalid.Field}
	case errors.As(err, &key):
		return &problem{Status: http.StatusConflict, Code: "key_conflict", Message: "belongs to job " + decimal(key.JobID) + ", which was enqueued by a different request", Field: "key"}
	case errors.As(err, &conflict):
		return &problem{Status: http.StatusConflict, Code: string(conflict.Why), Message: conflict.Error(), Field: conflict.Field, Job: &conflict.Job}
	case errors.As(err, &control):
		return &problem{Status: http.StatusConflict, Code: string(control.Why), Message: control.Error(), Control: &control.Control, At: control.At}
	case errors.As(err, &tooLarge):
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: "The request's body is longer than " + decimal(tooLarge.Limit) + " bytes."}
	case errors.Is(err, events.ErrClosed):
		return &problem{Status: http.StatusServiceUnavailable, Code: "closing", Message: "This process is shutting down; try again.", Retry: time.Second}
	case errors.Is(err, context.Canceled):
		return &problem{Status: statusGone, Code: "gone", Message: "The client left before its answer was ready."}
	case errors.As(err, &routed):
		return explainRouted(routed)
	}
	for _, none := range absent {
		if errors.Is(err, none.is) {
			return notFound(none.message)
		}
	}
	return explainDatabase(err)
}

func notFound(message string) *problem {
	return &problem{Status: http.StatusNotFound, Code: "not_found", Message: message}
}

func explainRouted(err *echo.HTTPError) *problem {
	switch err.Code {
	case http.StatusNotFound:
		return notFound("There is nothing at this address.")
	case http.StatusMethodNotAllowed:
		return &problem{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "This address does not accept this method."}
	}
	return internal(err)
}

// explainDatabase tells a database that is slow or away from a fault of ours.
// The texts of its errors stay in the log: they can quote values.
func explainDatabase(err error) *problem {
	var refused *pgconn.ConnectError
	var network net.Error
	var server *pgconn.PgError
	switch {
	case errors.As(err, &server):
		return explainRefusal(server.Code, err)
	case errors.Is(err, context.DeadlineExceeded):
		return slow(err)
	case errors.As(err, &refused), errors.As(err, &network), pgconn.SafeToRetry(err), errors.Is(err, pgconn.ErrConnClosed),
		errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrUnexpectedEOF):
		return away(err)
	}
	return internal(err)
}

// explainRefusal reads the code with which the server refused a statement. That
// it is short of something, or that we may not do what was asked, is for whoever
// runs the database, and is no fault of ours.
func explainRefusal(code string, err error) *problem {
	switch code {
	case "57014", "55P03", "53200", "40001", "40P01",
		"25P03", "25P04": // this process stood still in a transaction, or the transaction took too long
		return slow(err)
	case "53100":
		return &problem{Status: http.StatusServiceUnavailable, Code: "database_full", Message: "The disk of the database is full. Nothing was changed.", Retry: 10 * time.Second, cause: err}
	case "42501":
		return &problem{Status: http.StatusForbidden, Code: "database_refuses", Message: "The role with which this process uses the database may not do that. Nothing was changed.", cause: err}
	case "25006":
		return away(err)
	}
	switch {
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "28"), strings.HasPrefix(code, "53"),
		strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "58"):
		return away(err)
	}
	return internal(err)
}

func slow(err error) *problem {
	return &problem{Status: http.StatusServiceUnavailable, Code: "busy", Message: "The database took too long; try again, or ask for less.", Retry: 2 * time.Second, cause: err}
}

func away(err error) *problem {
	return &problem{Status: http.StatusServiceUnavailable, Code: "database_unavailable", Message: "The database cannot be reached or does not accept writes; try again.", Retry: 2 * time.Second, cause: err}
}

func internal(err error) *problem {
	return &problem{Status: http.StatusInternalServerError, Code: "internal", Message: "Something went wrong on our side. The log has the details under this request’s id.", cause: err}
}
