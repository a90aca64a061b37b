package static

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestAnAssetIsServedUnderItsVersionAndMayBeKeptForGood(t *testing.T) {
	for _, name := range names() {
		r := get(t, http.MethodGet, Path(name))
		if r.StatusCode != http.StatusOK || !strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: status %d, cache %q", name, r.StatusCode, r.Header.Get("Cache-Control"))
		}
		if r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Content-Type") == "application/octet-stream" {
			t.Errorf("%s is sent as %q", name, r.Header.Get("Content-Type"))
		}
	}
}

func TestAnOldVersionsAddressIsAnsweredButNotKept(t *testing.T) {
	r := get(t, http.MethodGet, Route+"000000000000/app.js")
	if r.StatusCode != http.StatusOK || r.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("status %d, cache %q", r.StatusCode, r.Header.Get("Cache-Control"))
	}
}

func TestWhatTheBrowserHasIsNotSentAgain(t *testing.T) {
	tag := get(t, http.MethodGet, Path("app.css")).Header.Get("ETag")
	if r := get(t, http.MethodGet, Path("app.css"), "If-None-Match", tag); r.StatusCode != http.StatusNotModified {
		t.Errorf("status %d", r.StatusCode)
	}
}

func TestOnlyAssetsAreServed(t *testing.T) {
	for _, path := range []string{Route, Route + "x", Route + "x/", Route + "x/static.go", Route + "x/../static.go", Route + "x/y/app.js", "/"} {
		if r := get(t, http.MethodGet, path); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d", path, r.StatusCode)
		}
	}
	if r := get(t, http.MethodPost, Path("app.js")); r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") == "" {
		t.Errorf("POST: status %d", r.StatusCode)
	}
	if r := get(t, http.MethodHead, Path("app.js")); r.StatusCode != http.StatusOK {
		t.Errorf("HEAD: status %d", r.StatusCode)
	}
}

var imported = regexp.MustCompile(`(?m)from '([^']+)'`)

func TestEveryModuleThatIsImportedIsThere(t *testing.T) {
	for _, name := range names() {
		if !strings.HasSuffix(name, ".js") {
			continue
		}
		body, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(body) > 8<<10 {
			t.Errorf("%s is %d bytes: the script is meant to stay small", name, len(body))
		}
		for _, m := range imported.FindAllStringSubmatch(string(body), -1) {
			Path(strings.TrimPrefix(m[1], "./"))
		}
		for _, never := range []string{"eval(", "new Function", "http://", "https://", ".style.", "new Date()", "Date.now"} {
			if strings.Contains(string(body), never) {
				t.Errorf("%s contains %s", name, never)
			}
		}
	}
}

func TestAnUnknownAssetIsAMistakeOfTheProgram(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an address was made for a file that is not there")
		}
	}()
	Path("missing.css")
}
