package browser

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

// watchLine notes each state that the page says its line is in.
func watchLine(tab *chrometest.Tab) {
	chrometest.Eval[any](tab, `(() => {
		const live = document.getElementById('live');
		window.states = [live.dataset.state];
		new MutationObserver(() => window.states.push(live.dataset.state)).observe(live, {attributeFilter: ['data-state']});
		return 1;
	})()`)
}

// round is a whole life of a job: claimed, renewed, completed, requeued.
func (s *site) round(id int64, kind string) {
	s.t.Helper()
	l := s.claim(kind, time.Minute)
	s.renew(l, time.Minute)
	s.complete(l, `{}`)
	s.requeue(id, "once more")
}

// Case B14.
func TestAKilledListenerLeavesNoHoleOnAnOpenPage(t *testing.T) {
	s := open(t, func(s *site) { s.feed.ReconnectDelay = 200 * time.Millisecond })
	id := s.enqueue(store.Request{Kind: "report"})
	tab := s.visit(jobPath(id))
	// Those of pages and verbs come and go as they are needed.
	const listeners = `select count(*) from pg_stat_activity
		where datname = current_database() and application_name = 'fenceline listener'`
	s.round(id, "report")
	s.showsAll(tab, id)
	before := value[int](s, listeners)
	for range 5 {
		watchLine(tab)
		s.same("listeners killed", value[int](s, `select count(pg_terminate_backend(pid)) from pg_stat_activity
			where datname = current_database() and application_name = 'fenceline listener'`), 1)
		s.round(id, "report")
		tab.Until(`window.states.includes('behind')`)
		s.round(id, "report")
		s.showsAll(tab, id)
		tab.Until(`window.states.at(-1) === 'live'`)
	}
	if after := value[int](s, listeners); after != before {
		t.Errorf("%d connections listened, now %d do", before, after)
	}
	s.notReloaded(tab)
}

// deaf makes connections that can fall silent without being closed, as a
// network does.
type deaf struct {
	events.Source
	mu   sync.Mutex
	live []*quiet
}

// quiet is one of them.
type quiet struct {
	net.Conn
	silent atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (d *deaf) ListenConfig() *pgx.ConnConfig {
	cfg := d.Source.ListenConfig()
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		q := &quiet{Conn: c, closed: make(chan struct{})}
		d.mu.Lock()
		d.live = append(d.live, q)
		d.mu.Unlock()
		return q, nil
	}
	return cfg
}

func (d *deaf) silence() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.live {
		q.silent.Store(true)
	}
	d.live = nil
}

func (q *quiet) Read(p []byte) (int, error) {
	n, err := q.Conn.Read(p)
	if q.silent.Load() {
		<-q.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (q *quiet) Write(p []byte) (int, error) {
	if q.silent.Load() {
		return len(p), nil
	}
	return q.Conn.Write(p)
}

func (q *quiet) SetDeadline(t time.Time) error {
	if q.silent.Load() && !t.IsZero() {
		q.once.Do(func() { close(q.closed) })
	}
	return q.Conn.SetDeadline(t)
}

func (q *quiet) Close() error {
	q.once.Do(func() { close(q.closed) })
	return q.Conn.Close()
}

// Case B15, with the times of the feed shortened.
func TestAHalfOpenListenerIsHealedUnderAnOpenPage(t *testing.T) {
	d := &deaf{}
	s := open(t, func(s *site) {
		d.Source = s.store
		s.source = d
		s.feed = events.Config{PingEvery: 200 * time.Millisecond, DeadAfter: time.Second, ReconnectDelay: 100 * time.Millisecond, Reread: time.Hour}
	})
	id := s.enqueue(store.Request{Kind: "report"})
	tab := s.visit(jobPath(id))
	watchLine(tab)
	d.silence()
	s.round(id, "report")
	tab.Until(`window.states.includes('behind')`)
	s.showsAll(tab, id)
	tab.Until(`window.states.at(-1) === 'live'`)
	s.round(id, "report")
	s.showsAll(tab, id)
	s.notReloaded(tab)
}

// Cases B22 and B24: what happens while nobody serves is read afterwards.
func TestAPageOutlivesARestartOfTheServer(t *testing.T) {
	s := open(t)
	id := s.enqueue(store.Request{Kind: "report"})
	tab := s.visit(jobPath(id))
	l := s.claim("report", time.Minute)
	tab.Until(badge + ` === 'running'`)
	s.stop()
	tab.Until(liveState + ` === 'interrupted'`)
	s.renew(l, time.Minute)
	s.complete(l, `{}`)
	s.requeue(id, "while nobody served")
	if got := rows(tab); strings.Contains(got, "completed") {
		t.Errorf("the page shows what it cannot know:\n%s", got)
	}
	s.serve()
	s.showsAll(tab, id)
	tab.Live()
	s.round(id, "report")
	s.showsAll(tab, id)
	s.notReloaded(tab)
}
