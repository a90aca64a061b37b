package web

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/labstack/echo/v4"
)

//go:embed openapi.json
var openAPI []byte

// document sends the API's OpenAPI document, with the address under which this
// server is mounted and its version filled in.
func (s *Server) document(c echo.Context) error {
	var doc map[string]any
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		return fmt.Errorf("read the embedded OpenAPI document: %w", err)
	}
	if s.urls.Base != "" {
		doc["servers"] = []map[string]string{{"url": s.urls.Base}}
	}
	if s.cfg.SignIn == nil {
		delete(doc, "security") // nobody has to prove anything
	}
	if info, ok := doc["info"].(map[string]any); ok && s.cfg.Version != "" {
		info["version"] = s.cfg.Version
	}
	return sendJSON(c, 200, doc)
}
