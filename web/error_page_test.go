package web_test

import (
	"strings"
	"testing"
)

func TestAnErrorIsAPageForPeople(t *testing.T) {
	c := open(t)
	for path, status := range map[string]int{"/jobs/abc": 404, "/jobs/99": 404, "/jobs/search": 404, "/jobs?search=x": 404, "/nowhere": 404} {
		a := want(t, c.send("GET", path, "", "Accept", "text/html"), status)
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(a.body, `id="main"`) || !strings.HasSuffix(strings.TrimSpace(a.body), "</html>") {
			t.Errorf("%s: %s %s", path, a.header.Get("Content-Type"), excerpt(a.body))
		}
	}
}
