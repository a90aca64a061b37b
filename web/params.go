package web

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// parseID reads a 64-bit id in its one spelling: decimal digits, no sign, no
// leading zero, above zero.
func parseID(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n > 0 && decimal(n) == text
}

// pathID reads the id from a page's path. What cannot be an id is the id of
// nothing: none is the error that says so.
func pathID(c echo.Context, none error) (int64, error) {
	id, ok := parseID(c.Param("id"))
	if !ok {
		return 0, none
	}
	return id, nil
}

// apiID is pathID for programs, which are told what is wrong with the id of what
// they name, as in "a job".
func apiID(c echo.Context, of string) (int64, error) {
	return pathID(c, &store.InvalidError{Field: "id", Message: "must be " + of + "'s id: a whole number from 1 to " + decimal(math.MaxInt64)})
}

// anyQuery reads the parameters of a page's address. A page leaves alone what it
// does not know: links gain parameters on their way.
func anyQuery(c echo.Context) (url.Values, error) {
	q, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return nil, &problem{Status: http.StatusBadRequest, Code: "invalid_query", Message: "The query after the question mark cannot be read; write every ';', '%' and '&' of a value as %3B, %25 and %26."}
	}
	return q, nil
}

// query is anyQuery for programs: one is told of a parameter that is given twice
// or is none of those that the address knows.
func query(c echo.Context, known ...string) (url.Values, error) {
	q, err := anyQuery(c)
	if err != nil {
		return nil, err
	}
	for name, values := range q {
		if len(known) == 0 {
			return nil, &store.InvalidError{Field: printable(name), Message: "is not a parameter of this address; it has none"}
		}
		if !slices.Contains(known, name) {
			return nil, &store.InvalidError{Field: printable(name), Message: "is not a parameter of this address; those are " + strings.Join(known, ", ")}
		}
		if len(values) > 1 {
			return nil, &store.InvalidError{Field: name, Message: "is given more than once"}
		}
	}
	return q, nil
}

// printable makes a client's name fit to be named in an answer. One that is
// empty is named by the quotation marks around it.
func printable(name string) string {
	if name == "" {
		return `""`
	}
	name = strings.ToValidUTF8(name, "\uFFFD")
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, name)
	if r := []rune(name); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return name
}

// number reads an optional whole number from 1 to most; absent it is def.
func number(q url.Values, name string, def, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, &store.InvalidError{Field: name, Message: "must be a whole number from 1 to " + strconv.Itoa(most)}
	}
	return n, nil
}

// cursor reads an optional id to go on from; absent it is 0.
func cursor(q url.Values, name string) (int64, error) {
	text := q.Get(name)
	if text == "" || text == "0" {
		return 0, nil
	}
	id, ok := parseID(text)
	if !ok {
		return 0, &store.InvalidError{Field: name, Message: "must be a cursor that an earlier answer gave"}
	}
	return id, nil
}
