package views

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/fenceline/fenceline/static"
	"github.com/fenceline/fenceline/views/chrometest"
)

// policy is the strictest that a console can be served with.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func TestMain(m *testing.M) {
	code := m.Run()
	chrometest.Stop()
	os.Exit(code)
}

// stage serves pages and a stream that a test plays by hand.
type stage struct {
	*chrometest.Tab
	t     *testing.T
	url   string
	mu    sync.Mutex
	pages map[string]string
	lines map[*streamLine]bool
	asked []*http.Request // every request for a stream
	posts []string
}

type streamLine struct {
	events chan string
	cut    chan struct{}
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, pages: map[string]string{}, lines: map[*streamLine]bool{}}
	mux := http.NewServeMux()
	mux.Handle("/ops/static/", http.StripPrefix("/ops", static.Handler()))
	mux.HandleFunc("/ops/stream", s.stream)
	mux.HandleFunc("POST /ops/jobs/", s.posted)
	mux.HandleFunc("/", s.page)
	server := httptest.NewServer(mux)
	s.url = server.URL
	t.Cleanup(func() {
		s.cut()
		server.CloseClientConnections()
		server.Close()
	})
	s.Tab = chrometest.Open(t)
	return s
}

func (s *stage) set(path string, c templ.Component) {
	html := render(s.t, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = html
}

func (s *stage) page(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	html, ok := s.pages[r.URL.Path]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprint(w, html)
}

func (s *stage) posted(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.posts = append(s.posts, r.URL.Path+"?seen="+r.FormValue(FieldSeen)+"&reason="+r.FormValue(FieldReason))
	s.mu.Unlock()
	http.Redirect(w, r, "/ops/jobs/70412", http.StatusSeeOther)
}

func (s *stage) stream(w http.ResponseWriter, r *http.Request) {
	line := &streamLine{make(chan string, 64), make(chan struct{})}
	s.mu.Lock()
	s.lines[line] = true
	s.asked = append(s.asked, r)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.lines, line)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprint(w, "retry: 200\n\nevent: hello\ndata: {}\n\n")
	for {
		w.(http.Flusher).Flush()
		select {
		case event := <-line.events:
			fmt.Fprint(w, event)
		case <-line.cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// send tells every open stream an event.
func (s *stage) send(name, id, data string) {
	event := "event: " + name + "\n"
	if id != "" {
		event += "id: " + id + "\n"
	}
	event += "data: " + strings.Join(strings.Split(data, "\n"), "\ndata: ") + "\n\n"
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range s.lines {
		line.events <- event
	}
}

func (s *stage) patch(id string, parts ...templ.Component) {
	var b strings.Builder
	for _, c := range parts {
		b.WriteString(render(s.t, c))
	}
	s.send("patch", id, b.String())
}

// cut ends every open stream.
func (s *stage) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range s.lines {
		close(line.cut)
		delete(s.lines, line)
	}
}

func (s *stage) streams() (open int, asked []*http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines), append([]*http.Request(nil), s.asked...)
}

func beatAt(t time.Time, position string) string {
	b, _ := json.Marshal(map[string]string{"now": machineTime(t), "position": position})
	return string(b)
}
