// Package static embeds the console's style, script and icons and serves them
// under addresses that change with their content, so that a browser may keep
// them for good. There is no build step: what is here is what is sent.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed *.css *.js *.svg
var files embed.FS

// Route is the path, relative to the console's prefix, under which the assets
// are served.
const Route = "/static/"

// version is a hash over every name and content. One for all of them, in the
// path, lets modules and style sheets name each other by relative paths.
var version = hashAll()

func hashAll() string {
	sum := sha256.New()
	for _, name := range names() {
		body, err := files.ReadFile(name)
		if err != nil {
			panic("static: embedded file " + name + ": " + err.Error())
		}
		sum.Write([]byte(name + "\x00"))
		sum.Write(body)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// names lists the embedded files in order.
func names() []string {
	list, err := fs.Glob(files, "*")
	if err != nil {
		panic("static: " + err.Error())
	}
	return list
}

// Path returns the address of an asset relative to the console's prefix:
// "/static/3f9c1a2b4d5e/app.css". It panics for a name that is not embedded,
// because that is a mistake in the program.
func Path(name string) string {
	if _, err := fs.Stat(files, name); err != nil {
		panic("static: no asset named " + name)
	}
	return Route + version + "/" + name
}

var types = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// Handler serves the assets for requests whose path begins with [Route]; a
// prefix must have been stripped. An address of another version, asked for by
// a page from before an upgrade, is answered with today's content and must not
// be kept. It answers GET and HEAD only.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are possible here", http.StatusMethodNotAllowed)
			return
		}
		serve(w, r)
	})
}

func serve(w http.ResponseWriter, r *http.Request) {
	asked, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, Route), "/")
	body, err := files.ReadFile(name)
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType(name))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", `"`+version+`"`)
	h.Set("Cache-Control", "no-cache")
	if asked == version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if strings.Contains(r.Header.Get("If-None-Match"), version) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.Method == http.MethodGet {
		// A reader that went away is no failure of ours, and there is no one
		// left to tell.
		_, _ = w.Write(body)
	}
}

func contentType(name string) string {
	if t, ok := types[path.Ext(name)]; ok {
		return t
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
