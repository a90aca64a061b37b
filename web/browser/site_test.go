package browser

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/views/chrometest"
	"github.com/fenceline/fenceline/web"
)

// site is a console that serves over TCP, with a database of its own.
type site struct {
	t     *testing.T
	ctx   context.Context
	store *store.Store
	owner *pgx.Conn // the database, behind the program's back

	ownerURL string
	addr     string
	url      string // without a slash at the end
	config   web.Config
	feed     events.Config
	source   events.Source
	stop     func() // of what serves now
}

// open starts a console; change may alter it before.
func open(t *testing.T, change ...func(*site)) *site {
	t.Helper()
	t.Parallel()
	s := &site{t: t, ctx: t.Context(), addr: "127.0.0.1:0"}
	s.store, s.ownerURL = storetest.NewWithURL(t)
	s.source = s.store
	var err error
	if s.owner, err = pgx.Connect(s.ctx, s.ownerURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.owner.Close(context.Background()) })
	for _, c := range change {
		c(s)
	}
	s.serve()
	t.Cleanup(func() { s.stop() })
	return s
}

// serve starts a process's worth of server: a feed of its own and the pages.
// It keeps its address over restarts.
func (s *site) serve() {
	s.t.Helper()
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	s.url = "http://" + s.addr
	cfg := s.config
	cfg.Store, cfg.Hub = s.store, events.NewHub(s.source, s.feed)
	server, err := web.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- cfg.Hub.Run(ctx) }()
	go func() { ended <- server.Run(ctx, listener) }()
	s.stop = func() {
		cancel()
		for range cap(ended) {
			if err := <-ended; err != nil {
				s.t.Error(err)
			}
		}
		s.stop = func() {}
	}
}

// visit opens a page in a browser of its own and waits until it is live. The
// page is marked, so that a reload would be noticed.
func (s *site) visit(path string) *chrometest.Tab {
	s.t.Helper()
	tab := chrometest.Open(s.t)
	tab.Load(s.url + path)
	tab.Live()
	mark(tab)
	return tab
}

func mark(tab *chrometest.Tab) { chrometest.Eval[any](tab, `window.marked = 1`) }

// notReloaded fails the test when the page is not the one that was marked.
func (s *site) notReloaded(tab *chrometest.Tab) {
	s.t.Helper()
	if !tab.Holds(`window.marked`) {
		s.t.Error("the page was loaded anew")
	}
}

// value reads one value behind the program's back.
func value[T any](s *site, sql string, args ...any) T {
	s.t.Helper()
	var v T
	if err := s.owner.QueryRow(s.ctx, sql, args...).Scan(&v); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// same compares what was read with what it must be.
func (s *site) same(what string, got, want any) {
	s.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("%s: %v, want %v", what, got, want)
	}
}
