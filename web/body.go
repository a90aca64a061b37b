package web

import (
	"mime"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
)

const (
	maxForm       = 4*store.MaxReason + 4<<10 // a reason whose bytes are all escaped, and a little more
	maxActionForm = 3*store.MaxArgs + maxForm // args whose bytes are all escaped, and the rest of the form
	maxJSON       = store.MaxArgs + 256<<10
)

// form reads a posted form. Fields in the address are not part of it, and a
// field that stands twice is refused rather than chosen from.
func form(c echo.Context) (url.Values, error) { return formUpTo(c, maxForm) }

func formUpTo(c echo.Context, limit int64) (url.Values, error) {
	r := c.Request()
	if err := expectType(r, "application/x-www-form-urlencoded"); err != nil {
		return nil, err
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, limit)
	r.URL.RawQuery = ""
	if err := r.ParseForm(); err != nil {
		return nil, formError(err)
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			return nil, &store.InvalidError{Field: printable(name), Message: "is given more than once"}
		}
	}
	return r.PostForm, nil
}

// formError is what is said of a form that cannot be read to its end.
func formError(err error) error {
	if explain(err).Status == http.StatusRequestEntityTooLarge {
		return err
	}
	return &problem{Status: http.StatusBadRequest, Code: "invalid_form", Message: "The form cannot be read."}
}

func expectType(r *http.Request, want string) error {
	got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || got != want {
		return &problem{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Message: "The body must be sent as " + want + ".", Field: "Content-Type"}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return &problem{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Message: "The body must be sent as it is, not compressed.", Field: "Content-Encoding"}
	}
	return nil
}
