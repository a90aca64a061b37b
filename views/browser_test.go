package views

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/fenceline/fenceline/static"
)

// policy is the strictest that a console can be served with.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

var browser struct {
	once sync.Once
	ctx  context.Context
	stop func()
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.stop != nil {
		browser.stop()
	}
	os.Exit(code)
}

// startBrowser starts the one browser of these tests.
func startBrowser() {
	path, err := exec.LookPath("chromium")
	if err != nil {
		path, err = exec.LookPath("google-chrome")
	}
	if err != nil {
		browser.err = err
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	browser.ctx, browser.stop = ctx, func() { cancel(); stop() }
	browser.err = chromedp.Do(ctx)
}

// stage serves pages and a stream that a test plays by hand.
type stage struct {
	t     *testing.T
	url   string
	ctx   context.Context // a window of its own
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
	browser.once.Do(startBrowser)
	if browser.err != nil {
		t.Skipf("no browser to test with (apt-get install chromium): %v", browser.err)
	}
	s := &stage{t: t, pages: map[string]string{}, lines: map[*streamLine]bool{}}
	mux := http.NewServeMux()
	mux.Handle("/ops/static/", http.StripPrefix("/ops", static.Handler()))
	mux.HandleFunc("/ops/stream", s.stream)
	mux.HandleFunc("POST /ops/jobs/", s.posted)
	mux.HandleFunc("/", s.page)
	server := httptest.NewServer(mux)
	s.url = server.URL
	ctx, cancel := chromedp.NewContext(browser.ctx, chromedp.WithNewBrowserContext())
	s.ctx = ctx
	t.Cleanup(func() {
		cancel()
		s.cut()
		server.CloseClientConnections()
		server.Close()
	})
	s.ready(ctx)
	return s
}

// ready opens a tab and fails the test on whatever its console complains of.
func (s *stage) ready(ctx context.Context) {
	s.do(ctx)
	go func() {
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException {
				if !strings.Contains(m.Text, "Failed to load resource") && !strings.Contains(m.Text, "net::ERR_") {
					s.t.Errorf("the browser complains: %s", m.Text)
				}
			}
		}
	}()
}

func (s *stage) tab() context.Context {
	ctx, cancel := chromedp.NewContext(s.ctx)
	s.t.Cleanup(cancel)
	s.ready(ctx)
	return ctx
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

func (s *stage) do(ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	s.t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) open(ctx context.Context, path string) {
	s.t.Helper()
	s.do(ctx, chromedp.Navigate(s.url+path))
}

func eval[T any](s *stage, ctx context.Context, js string) T {
	s.t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		s.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// until waits for a condition of the page.
func (s *stage) until(ctx context.Context, js string) {
	s.t.Helper()
	s.wait(js, func() bool { return eval[bool](s, ctx, "Boolean("+js+")") })
}

// wait waits for a fact.
func (s *stage) wait(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		if holds() {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("never came true: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// press types as a keyboard does: a key that the page takes for itself leaves no
// character behind.
func (s *stage) press(ctx context.Context, keys string) {
	s.t.Helper()
	s.do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, r := range keys {
			for _, k := range kb.Encode(r) {
				if k.Type == kb.KeyChar {
					continue
				}
				if k.Type == kb.KeyDown && r >= ' ' && r < 127 {
					k.Text = string(r)
				}
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *k); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

func (s *stage) live(ctx context.Context) {
	s.t.Helper()
	s.until(ctx, `document.getElementById('live').dataset.state === 'live'`)
}

// zone puts the page's reader into a time zone, with a wall clock that is off.
func (s *stage) zone(ctx context.Context, name string, off time.Duration) {
	s.t.Helper()
	s.do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name}); err != nil {
			return err
		}
		script := fmt.Sprintf(`{const real = Date.now; Date.now = () => real() + (%d); const D = Date; Date = new Proxy(D, {construct: (t, a) => a.length ? new D(...a) : new D(Date.now())});}`, off.Milliseconds())
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	}))
}

func beatAt(t time.Time, position string) string {
	b, _ := json.Marshal(map[string]string{"now": machineTime(t), "position": position})
	return string(b)
}
