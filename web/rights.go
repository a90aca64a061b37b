package web

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
)

// right is something that not everybody may do.
type right string

// searchArgs is the right to search what jobs were given. Who may ask which
// jobs hold a value can find the value out.
const searchArgs right = "search_args"

// rights says who may do what. Everybody who reaches this console acts as its
// one local operator.
var rights = map[string][]right{Actor: {searchArgs}}

// require refuses whoever does not have a right. It is the only place that asks.
func (s *Server) require(_ echo.Context, want right) error {
	if !slices.Contains(rights[Actor], want) {
		return &problem{Status: http.StatusForbidden, Code: "forbidden", Message: "You may not search what jobs were given."}
	}
	return nil
}
