package browser

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

const prefix = "/ops/leases"

// mount puts a proxy in front of the site that serves it under the prefix and
// notes every path that is asked for outside of it.
func (s *site) mount(strip bool) (front string, strays func() string) {
	target, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	var mu sync.Mutex
	var outside []string
	proxy := &httputil.ReverseProxy{FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		if strip {
			r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, prefix)
			r.Out.URL.RawPath = ""
		}
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, prefix+"/") {
			mu.Lock()
			outside = append(outside, r.Method+" "+r.URL.Path)
			mu.Unlock()
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	s.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + prefix, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(outside, ", ")
	}
}

// Case B52.
func TestNothingLeavesThePathPrefix(t *testing.T) {
	for name, strip := range map[string]bool{"stripped by the proxy": true, "left by the proxy": false} {
		t.Run(name, func(t *testing.T) {
			s := open(t, func(s *site) { s.config.Prefix = prefix + "/" })
			id := s.spent(store.Request{Kind: "report"})
			front, strays := s.mount(strip)
			tab := chrometest.Open(t)
			here := func(path string) {
				t.Helper()
				tab.Until(`location.pathname === '` + prefix + path + `' && document.readyState === 'complete'`)
			}
			tab.Load(front + "/")
			tab.Live()
			tab.Click(".brand")
			here("/")
			tab.Click(`nav [data-go=j]`)
			here("/jobs")
			tab.Click("#rows a")
			here(jobPath(id))
			tab.Live()
			ask(tab, store.ActionRequeue, "under a prefix")
			send(tab, store.ActionRequeue)
			tab.Until(`document.getElementById('flash')`)
			here(jobPath(id))
			tab.Live()
			s.complete(s.claim("report", shortLease), `{}`)
			tab.Until(badge + ` === 'completed'`)
			tab.Click("form[action$=reveal] button")
			tab.Until(`document.querySelector('h1') && location.pathname.endsWith('/reveal')`)
			here(jobPath(id) + "/reveal")
			tab.Load(front + "/nowhere")
			tab.Click("main a.btn")
			here("/")
			tab.Type("#search", "9\r")
			here("/jobs")
			s.same("asked for outside", strays(), "")
		})
	}
}
