package web

import (
	"cmp"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"github.com/fenceline/fenceline/views"
)

// Rates bound how many requests a second one person or token may send to this
// process, on average; ten times as many may come at once. Reading and changing
// are counted apart: whoever has read too much can still act. Zero means the
// default, and a negative number no bound.
type Rates struct {
	Reads     int // 50
	Changes   int // 100
	Strangers int // of either, of one address, from who is not signed in; 10
}

func (r Rates) withDefaults() Rates {
	return Rates{cmp.Or(r.Reads, 50), cmp.Or(r.Changes, 100), cmp.Or(r.Strangers, 10)}
}

// atOnce is how many seconds' worth of requests may come at once.
const atOnce = 10

// mostBudgets bounds how many budgets are kept of addresses. Addresses beyond it
// share one until others have been quiet.
const mostBudgets = 10000

// unmetered are the routes on which nothing is counted: what machines ask
// regularly, files, and streams, of which [Config.MaxStreams] may be open.
var unmetered = map[string]bool{
	routeHealth: true, routeReady: true, routeMetrics: true, routeStatic: true, views.RouteStream: true, routeAPIStream: true,
}

// budget is whose requests are counted together.
type budget struct {
	who     string // a person, a token or an address
	changes bool
}

// meter counts requests.
type meter struct {
	now func() time.Time

	mu               sync.Mutex
	known, strangers map[budget]*rate.Limiter
	swept            time.Time
}

// take spends one request of a budget, or tells after which time there will be
// one.
func (m *meter) take(all *map[budget]*rate.Limiter, of budget, perSecond int) time.Duration {
	if perSecond < 0 {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if _, has := (*all)[of]; !has && len(*all) >= mostBudgets {
		if m.sweep(*all, now); len(*all) >= mostBudgets {
			of.who = ""
		}
	}
	l := (*all)[of]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(perSecond), atOnce*perSecond)
		if *all == nil {
			*all = map[budget]*rate.Limiter{}
		}
		(*all)[of] = l
	}
	taken := l.ReserveN(now, 1)
	wait := taken.DelayFrom(now)
	if wait > 0 {
		taken.CancelAt(now)
	}
	return wait
}

// sweep forgets the budgets that are whole again, at most once in a second.
func (m *meter) sweep(all map[budget]*rate.Limiter, now time.Time) {
	if now.Sub(m.swept) < time.Second {
		return
	}
	m.swept = now
	for key, l := range all {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(all, key)
		}
	}
}

// metered refuses who sends too much. It is asked once it is known who that is,
// so that what a stranger sends from the same address locks nobody out.
func (s *Server) metered(c echo.Context, p person) error {
	if s.cfg.SignIn == nil || unmetered[c.Path()] {
		return nil
	}
	var wait time.Duration
	rates, changes := s.cfg.Rates, !readOnly(c.Request().Method)
	switch {
	case p.name == "":
		wait = s.meter.take(&s.meter.strangers, budget{network(c.RealIP()), changes}, rates.Strangers)
	case changes:
		wait = s.meter.take(&s.meter.known, budget{p.name, true}, rates.Changes)
	default:
		wait = s.meter.take(&s.meter.known, budget{p.name, false}, rates.Reads)
	}
	if wait == 0 {
		return nil
	}
	message, again := "Too many requests came from you.", "load this page again"
	if changes {
		message, again = message+" Nothing was changed.", again+": your browser sends the same once more"
	}
	if forPrograms(c) {
		again = "send it again"
	}
	message += " Wait " + waitText(wait) + ", then " + again + "."
	return &problem{Status: http.StatusTooManyRequests, Code: "too_many_requests", Message: message, Retry: wait}
}

// network is an address, or the part of one that belongs to one customer: of
// IPv6 everybody has plenty.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Unmap().Is4() {
		return address
	}
	within, _ := ip.WithZone("").Prefix(64)
	return within.String()
}
