package web_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web"
	"github.com/fenceline/fenceline/web/access"
)

func TestWhoAsksTooMuchWaitsAndNobodyElseDoes(t *testing.T) {
	c := signing(t, func(cfg *web.Config) { cfg.Rates = web.Rates{Reads: 1, Changes: 1, Strangers: 1} })
	var now atomic.Pointer[time.Time]
	pass := func(d time.Duration) {
		at := time.Now()
		if before := now.Load(); before != nil {
			at = before.Add(d)
		}
		now.Store(&at)
	}
	pass(0)
	c.SetClock(func() time.Time { return *now.Load() })
	token := access.NewToken()
	if err := c.store.AddToken(c.ctx, "test", "operator", "deploy", store.Powers{Role: store.RoleOperator}, time.Hour, access.Hash(token)); err != nil {
		t.Fatal(err)
	}
	operator, program := c.as("operator"), []string{"Authorization", "Bearer " + token, "Content-Type", "application/json"}
	pause := func(reason string) answer {
		return c.post("/queues/pause", fields("scope", "queue", "name", "mail", "seen", "0", "reason", reason), operator...)
	}
	times := func(n int, status int, ask func(i int) answer) {
		t.Helper()
		for i := range n {
			want(t, ask(i), status)
		}
	}
	read := func(int) answer { return c.send("GET", "/jobs", "", operator...) }
	times(10, 200, read)
	refused := want(t, read(0), 429)
	if refused.header.Get("Retry-After") != "1" || !strings.Contains(refused.body, "Too many requests came from you. Wait ") || !strings.Contains(refused.body, "<h1") {
		t.Errorf("%v: %s", refused.header, excerpt(refused.body))
	}

	// What is not counted, and what is counted apart.
	want(t, c.get("/healthz"), 200)
	want(t, c.send("GET", "/static/none", "", operator...), 404)
	stream := c.follow("/stream?topic=jobs", operator...)
	stream.close()
	want(t, pause("look"), 303)
	want(t, c.send("GET", "/jobs", "", c.as("viewer")...), 200)
	want(t, c.send("GET", "/api/v1/jobs", "", program...), 200)

	times(9, 409, func(int) answer { return pause("again") }) // is paused already
	if full := want(t, pause("typed"), 429); !strings.Contains(full.body, "Nothing was changed.") {
		t.Errorf("%s", excerpt(full.body))
	}
	times(10, 201, func(int) answer { return c.send("POST", "/api/v1/jobs", `{"kind":"report"}`, program...) })
	full := want(t, c.send("POST", "/api/v1/jobs", `{"kind":"report"}`, program...), 429)
	if code, _ := full.fault(t); code != "too_many_requests" || full.header.Get("Retry-After") != "1" {
		t.Errorf("%s, %v", code, full.header)
	}
	if !strings.Contains(full.body, "Nothing was changed. Wait a second, then send it again.") {
		t.Errorf("a program is told what is for a browser: %s", full.body)
	}
	if got := len(c.refusalsIn()); got != 0 {
		t.Errorf("%d entries of the audit say that somebody was too fast", got)
	}

	// Strangers: what they say of their address does not matter, and they are in
	// nobody's way.
	stranger := func(i int) answer {
		return c.send("GET", "/jobs", "", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i), "X-Real-Ip", fmt.Sprintf("192.0.2.%d", i))
	}
	times(10, 303, stranger)
	times(3, 429, stranger)
	want(t, c.get("/sign-in"), 429)
	want(t, c.send("GET", "/jobs", "", c.as("viewer")...), 200)

	pass(time.Second)
	want(t, read(0), 200)
	want(t, read(0), 429)
	pass(time.Hour) // no more than that is saved up
	times(10, 200, read)
	want(t, read(0), 429)

	// A program that has as many addresses as it likes fills no memory, and IPv6
	// gives nobody more than one budget.
	last := 0
	for i := range 10100 {
		_, last = c.Ask(fmt.Sprintf("2001:db8:%x::1", i))
	}
	if last > 10001 {
		t.Errorf("%d addresses are kept", last)
	}
	pass(time.Minute)
	for i := range 10 {
		wait, kept := c.Ask(fmt.Sprintf("2001:db8:ffff:1::%x", i))
		if wait != 0 || kept != 1 {
			t.Errorf("%d: wait %s, %d addresses are kept", i, wait, kept)
		}
	}
	if wait, _ := c.Ask("2001:db8:ffff:1:2:3:4:5"); wait == 0 {
		t.Error("one network has more than one budget")
	}
}
