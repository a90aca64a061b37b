package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/web"
)

func TestWhatTheDatabaseRefusesIsNoFaultOfOurs(t *testing.T) {
	c := open(t)
	c.exec(`create table public.says (code text); grant select, update on public.says to public; insert into public.says values (null);
		create function public.refuse() returns trigger language plpgsql as $$
		declare says text := (select code from public.says);
		begin
			if says is not null then raise exception 'no' using errcode = says; end if;
			return new;
		end $$;
		create trigger refuse before insert or update on fenceline.jobs for each row execute function public.refuse()`)
	id := text(c.enqueue(store.Request{Kind: "report", RunAt: time.Now().Add(time.Hour)}))
	for state, answer := range map[string]struct {
		status int
		code   string
	}{
		"53100": {503, "database_full"},
		"53200": {503, "busy"},
		"53300": {503, "database_unavailable"},
		"53400": {503, "database_unavailable"},
		"58030": {503, "database_unavailable"},
		"40P01": {503, "busy"},
		"25P03": {503, "busy"},
		"25P04": {503, "busy"},
		"25006": {503, "database_unavailable"},
		"42501": {403, "database_refuses"},
		"22012": {500, "internal"}, // what we do not know is ours
	} {
		c.exec(`update public.says set code = $1`, state)
		for path, body := range map[string]string{
			"/api/v1/jobs":                      `{"kind":"report"}`,
			"/api/v1/jobs/" + id + "/terminate": `{"reason":"x","seen":{"revision":1}}`,
		} {
			code, _ := want(t, c.api(path, body), answer.status).fault(t)
			if code != answer.code {
				t.Errorf("%s at %s is %s, want %s", state, path, code, answer.code)
			}
		}
	}
}

// The driver says so of a connection that it found closed while it waited for the
// answer, as when the server is killed at that moment.
func TestAConnectionThatEndsWithoutAWordIsNoFaultOfOurs(t *testing.T) {
	if status, code := web.Explained(fmt.Errorf("commit: %w", pgconn.ErrConnClosed)); status != 503 || code != "database_unavailable" {
		t.Errorf("%d %s", status, code)
	}
}

func TestARoleThatMayOnlyLookIsToldSo(t *testing.T) {
	c := open(t)
	id := text(c.enqueue(store.Request{Kind: "report"}))
	c.exec(`revoke insert, update on fenceline.jobs from fenceline_runtime`)
	want(t, c.get("/jobs/"+id), 200)
	page := want(t, c.post("/jobs/"+id+"/terminate", map[string][]string{"reason": {"x"}, "seen": {"1"}}), 403)
	if !strings.Contains(page.body, "may not do that") {
		t.Errorf("the page does not say why: %s", excerpt(page.body))
	}
}

func TestABodyThatCannotBeReadAsItStandsIsRefused(t *testing.T) {
	c := open(t)
	a := want(t, c.send("POST", "/api/v1/jobs", "\x1f\x8b", "Content-Type", "application/json", "Content-Encoding", "gzip"), 415)
	if code, field := a.fault(t); code != "unsupported_media_type" || field != "Content-Encoding" {
		t.Errorf("%s of %s", code, field)
	}
	for _, year := range []string{"0000", "0001", "1969"} {
		a := want(t, c.api("/api/v1/jobs", `{"kind":"report","run_at":"`+year+`-01-01T00:00:00Z"}`), 422)
		if _, field := a.fault(t); field != "run_at" {
			t.Errorf("the year %s is refused as %s", year, field)
		}
	}
}

func TestARequestIsToldThatTheDatabaseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	_, address := storetest.NewWithURL(t)
	st := storetest.Open(t, store.Config{URL: address, StatementTimeout: time.Hour, LockTimeout: time.Hour})
	c := openOn(t, st, address, func(cfg *web.Config) { cfg.Patience = time.Second })
	c.client.Timeout = time.Minute
	c.exec(`begin; lock table fenceline.jobs in access exclusive mode`)
	for _, path := range []string{"/jobs", "/api/v1/jobs"} {
		want(t, c.get(path), 503)
	}
	c.exec(`rollback`)
	want(t, c.get("/jobs"), 200)
}
