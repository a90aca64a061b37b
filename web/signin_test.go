package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/web"
	"github.com/fenceline/fenceline/web/access"
)

const password = "four plain words, spoken"

// signing starts a console to which people sign in, with one person of each
// role, named after it. Passwords take long on purpose, so most of the tests
// begin sessions behind the program's back.
func signing(t *testing.T, change ...func(*web.Config)) *console {
	t.Helper()
	c := open(t, append([]func(*web.Config){func(cfg *web.Config) { cfg.SignIn = &web.SignIn{Passwords: true} }}, change...)...)
	for _, role := range store.Roles {
		c.person(string(role), store.Powers{Role: role})
	}
	return c
}

// hashed is the hash of [password], made once.
var hashed = func() func(t *testing.T) string {
	var hash string
	done := make(chan struct{})
	go func() { hash, _ = access.HashPassword(context.Background(), password); close(done) }()
	return func(*testing.T) string { <-done; return hash }
}()

func (c *console) person(name string, powers store.Powers) store.Person {
	c.t.Helper()
	p, err := c.store.AddPerson(c.ctx, "test", name, powers, hashed(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

// as is a cookie of the person's, without a sign-in.
func (c *console) as(name string) []string {
	c.t.Helper()
	people, err := c.store.People(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, p := range people {
		if p.Name == name {
			token := access.NewCode()
			err := c.store.KeepSignIn(c.ctx, store.KeptSignIn{TokenHash: access.Hash(token), PersonID: p.ID, Data: []byte{}, Idle: time.Hour, Most: time.Hour})
			if err != nil {
				c.t.Fatal(err)
			}
			return []string{"Cookie", "fenceline=" + token}
		}
	}
	c.t.Fatalf("there is no %s", name)
	return nil
}

func fields(pairs ...string) url.Values {
	out := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out.Set(pairs[i], pairs[i+1])
	}
	return out
}

// cookieOf is the cookie that an answer sets, as a header to send.
func cookieOf(t *testing.T, a answer) (*http.Cookie, []string) {
	t.Helper()
	set, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	if err != nil {
		t.Fatalf("no cookie in %v", a.header)
	}
	return set, []string{"Cookie", set.Name + "=" + set.Value}
}

func TestAPersonSignsInGoesOnAndSignsOut(t *testing.T) {
	c := signing(t)
	job := text(c.enqueue(store.Request{}))
	away := want(t, c.get("/jobs/"+job+"?full=1"), 303)
	if got := away.header.Get("Location"); got != "/sign-in?next=%2Fjobs%2F"+job+"%3Ffull%3D1" {
		t.Fatalf("led to %s", got)
	}
	if page := want(t, c.get(away.header.Get("Location")), 200); !strings.Contains(page.body, `value="/jobs/`+job+`?full=1"`) || strings.Contains(page.body, `aria-label="Pages"`) {
		t.Errorf("the sign-in page: %s", excerpt(page.body))
	}
	// What the browser had before is no session of anybody's afterwards.
	planted := []string{"Cookie", "fenceline=planted-by-somebody-else"}
	in := want(t, c.post("/sign-in", fields("name", "operator", "password", password, "next", "/jobs/"+job), planted...), 303)
	if in.header.Get("Location") != "/jobs/"+job || in.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", in.header)
	}
	cookie, header := cookieOf(t, in)
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || len(cookie.Value) < 40 || !cookie.Expires.IsZero() {
		t.Errorf("the cookie is %v", cookie)
	}
	page := want(t, c.send("GET", "/jobs/"+job, "", header...), 200)
	if !strings.Contains(page.body, `<bdi>operator</bdi>`) {
		t.Error("the page does not say who looks")
	}
	want(t, c.post("/jobs/"+job+"/terminate", fields("reason", "wrong input", "seen", "1"), header...), 303)
	last := c.transitions(int64(1))
	if got := last[len(last)-1]; got.Actor != "operator" {
		t.Errorf("recorded as %q", got.Actor)
	}
	again := want(t, c.post("/sign-in", fields("name", "operator", "password", password), header...), 303)
	if second, _ := cookieOf(t, again); second.Value == cookie.Value {
		t.Error("a sign-in kept the token")
	}
	want(t, c.send("GET", "/", "", header...), 303) // the session before is over
	_, header = cookieOf(t, again)
	want(t, c.post("/sign-out", fields(), header...), 303)
	want(t, c.send("GET", "/", "", header...), 303)
	var kept int
	if err := c.owner.QueryRow(c.ctx, `select count(*) from fenceline.sign_ins where token_hash = $1 or data::text like '%' || $1 || '%'`, cookie.Value).Scan(&kept); err != nil || kept != 0 {
		t.Errorf("the token itself is in the database %d times, %v", kept, err)
	}
	var done string
	if err := c.owner.QueryRow(c.ctx, `select string_agg(actor || ' ' || action || ' ' || outcome, ', ' order by id) from fenceline.audit where action like 'sign%'`).Scan(&done); err != nil ||
		done != "operator sign_in done, operator sign_in done, operator sign_out done" {
		t.Errorf("the audit says %s, %v", done, err)
	}
}

func TestWhoDoesNotFitIsToldNothingMore(t *testing.T) {
	c := signing(t)
	for _, try := range [][2]string{{"operator", "four plain words, written"}, {"nobody", password}, {"' or 1=1 --", "x"}, {"", ""}, {"operator", strings.Repeat("x", 600)}} {
		a := want(t, c.post("/sign-in", fields("name", try[0], "password", try[1])), 401)
		if !strings.Contains(a.body, "That name and password do not fit.") || a.header.Get("Set-Cookie") != "" || try[1] != "x" && try[1] != "" && strings.Contains(a.body, try[1]) {
			t.Errorf("%q: %s", try, excerpt(a.body))
		}
	}
	var said string
	if err := c.owner.QueryRow(c.ctx, `select string_agg(distinct actor || ' ' || outcome, ', ') from fenceline.audit where action = 'sign_in'`).Scan(&said); err != nil || said != "operator refused, unknown refused" {
		t.Errorf("%s, %v", said, err)
	}
}

func TestTriesAreSlowedByAccountAndByAddress(t *testing.T) {
	c := signing(t)
	wrong := func() answer {
		return c.post("/sign-in", fields("name", "viewer", "password", "wrong wrong wrong wrong"))
	}
	want(t, wrong(), 401)
	c.exec(`update fenceline.brakes set tries = 50 where key like 'account:%'`)
	want(t, wrong(), 401) // and the next has to wait for a minute
	a := want(t, wrong(), 429)
	if a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "Too many tries") || !strings.Contains(a.body, `value="viewer"`) {
		t.Errorf("%v %s", a.header, excerpt(a.body))
	}
	// The right one does not help meanwhile, and others are not held up.
	c.exec(`update fenceline.brakes set held_to = now() + interval '1 minute' where key like 'account:%'`)
	want(t, c.post("/sign-in", fields("name", "viewer", "password", password)), 429)
	want(t, c.post("/sign-in", fields("name", "admin", "password", password)), 303)
	told := func(a answer, parts ...string) {
		t.Helper()
		after, err := strconv.Atoi(a.header.Get("Retry-After"))
		if err != nil || after < 1 || after > 60 {
			t.Errorf("to be tried again after %q", a.header.Get("Retry-After"))
		}
		for _, part := range append(parts, fmt.Sprintf("Wait %d seconds, then try again.", after)) {
			if !strings.Contains(a.body, part) {
				t.Errorf("it does not say %q: %s", part, excerpt(a.body))
			}
		}
	}
	// Changing the password is held as a sign-in is, and so are tokens that are none.
	told(want(t, c.post("/account/password", fields("password", password, "new-password", "another four plain words"), c.as("viewer")...), 429), "Too many tries.")
	c.exec(`insert into fenceline.brakes (key, tries, at, held_to) values ('token:127.0.0.1', 99, now(), now() + interval '1 minute')`)
	told(want(t, c.send("GET", "/api/v1/jobs", "", "Authorization", "Bearer x"), 429), `"code":"too_many_tries"`)
	c.exec(`update fenceline.brakes set held_to = now()`)
	want(t, c.post("/sign-in", fields("name", "viewer", "password", password)), 303)
	// Of an address, whatever the name; measured without the price of passwords.
	brake := func(key string) store.Brake { return store.Brake{Key: key, Free: 20, Most: 15 * time.Minute} }
	passed := 0
	for range 40 {
		if wait, err := c.store.TryNow(c.ctx, brake("address:192.0.2.1")); err != nil {
			t.Fatal(err)
		} else if wait == 0 {
			passed++
		}
	}
	if passed < 20 || passed > 25 {
		t.Errorf("%d of 40 tries were let through", passed)
	}
	var most float64
	c.exec(`update fenceline.brakes set tries = 100, held_to = now() where key = 'address:192.0.2.1'`)
	c.store.TryNow(c.ctx, brake("address:192.0.2.1"))
	if err := c.owner.QueryRow(c.ctx, `select extract(epoch from held_to - at) from fenceline.brakes where key = 'address:192.0.2.1'`).Scan(&most); err != nil || most != 900 {
		t.Errorf("held for %v s, %v", most, err)
	}
	if wait, err := c.store.TryNow(c.ctx, brake("address:192.0.2.2"), brake("address:192.0.2.1")); err != nil || wait == 0 {
		t.Errorf("one of two brakes holds: %v %v", wait, err)
	}
	// Who is held as an address holds no account up.
	var tries int
	if err := c.owner.QueryRow(c.ctx, `select tries from fenceline.brakes where key = 'address:192.0.2.2'`).Scan(&tries); !errors.Is(err, pgx.ErrNoRows) {
		t.Errorf("a try that was not made counts %d, %v", tries, err)
	}
}

func TestNothingLeadsElsewhereAfterASignIn(t *testing.T) {
	c := signing(t)
	for _, next := range []string{"//evil.test", "https://evil.test/", `/\evil.test`, "/\t/evil.test", "evil.test", "javascript:alert(1)", "/%0d%0aSet-Cookie:x", "/jobs?q=a"} {
		a := want(t, c.post("/sign-in", fields("name", "admin", "password", password, "next", next)), 303)
		to, err := url.Parse(a.header.Get("Location"))
		if err != nil || to.Host != "" || to.Scheme != "" || strings.HasPrefix(to.Path, "//") || strings.ContainsAny(a.header.Get("Location"), "\r\n\t\\") {
			t.Errorf("%q leads to %q", next, a.header.Get("Location"))
		}
		c.exec(`delete from fenceline.brakes`)
	}
}

func TestASessionEndsByItselfAndWhenItsOwnerSaysSo(t *testing.T) {
	c := signing(t)
	here, there := c.as("viewer"), c.as("viewer")
	list := want(t, c.send("GET", "/account", "", here...), 200)
	if strings.Count(list.body, "Sign out there") != 1 || !strings.Contains(list.body, "this one") {
		t.Errorf("%s", excerpt(list.body))
	}
	other := access.Hash(strings.TrimPrefix(there[1], "fenceline="))
	stranger := c.as("operator")
	want(t, c.post("/account/sign-ins", fields("sign-in", access.Hash(strings.TrimPrefix(stranger[1], "fenceline="))), here...), 303)
	want(t, c.send("GET", "/", "", stranger...), 200) // nobody ends another's
	want(t, c.post("/account/sign-ins", fields("sign-in", other), here...), 303)
	want(t, c.send("GET", "/", "", there...), 303)
	want(t, c.send("GET", "/", "", here...), 200)

	// Use puts the end off, but not beyond the absolute one.
	c.exec(`update fenceline.sign_ins set seen_at = now() - interval '50 minutes', expires_at = now() + interval '10 minutes', ends_at = now() + interval '30 minutes'`)
	want(t, c.send("GET", "/", "", here...), 200)
	var idle, absolute bool
	err := c.owner.QueryRow(c.ctx, `select expires_at > now() + interval '20 minutes', expires_at = ends_at from fenceline.sign_ins where token_hash = $1`,
		access.Hash(strings.TrimPrefix(here[1], "fenceline="))).Scan(&idle, &absolute)
	if err != nil || !idle || !absolute {
		t.Errorf("put off %v, at most to the end %v, %v", idle, absolute, err)
	}
	c.exec(`update fenceline.sign_ins set expires_at = now()`)
	want(t, c.send("GET", "/", "", here...), 303)
}

func TestAPasswordIsChangedByWhoKnowsIt(t *testing.T) {
	c := signing(t)
	here, there := c.as("viewer"), c.as("viewer")
	want(t, c.post("/account/password", fields("password", "not the one at all", "new-password", "another four plain words"), here...), 422)
	short := want(t, c.post("/account/password", fields("password", password, "new-password", "too short"), here...), 422)
	if !strings.Contains(short.body, "at least 15 characters") {
		t.Errorf("%s", excerpt(short.body))
	}
	changed := want(t, c.post("/account/password", fields("password", password, "new-password", "another four plain words"), here...), 303)
	_, now := cookieOf(t, changed)
	want(t, c.send("GET", "/", "", now...), 200)
	want(t, c.send("GET", "/", "", here...), 303) // a copy of the cookie is worth nothing either
	want(t, c.send("GET", "/", "", there...), 303)
	// A sign-in that compared the password before it was changed comes too late.
	late := store.KeptSignIn{TokenHash: "late", PersonID: c.account("viewer").ID, Fitted: hashed(t), Data: []byte{}, Idle: time.Hour, Most: time.Hour}
	if err := c.store.KeepSignIn(c.ctx, late); !errors.Is(err, store.ErrNoPerson) {
		t.Errorf("a session of the old password begins: %v", err)
	}
	want(t, c.post("/sign-in", fields("name", "viewer", "password", password)), 401)
	want(t, c.post("/sign-in", fields("name", "viewer", "password", "another four plain words")), 303)
}

func TestTheFirstAccountIsMadeOnceWithTheCode(t *testing.T) {
	c := open(t, func(cfg *web.Config) { cfg.SignIn = &web.SignIn{Passwords: true} })
	if got := want(t, c.get("/sign-in"), 303).header.Get("Location"); got != "/set-up" {
		t.Errorf("led to %s", got)
	}
	code, spare := access.NewCode(), access.NewCode()
	for _, one := range []string{code, spare} {
		if err := c.store.KeepSetupCode(c.ctx, access.Hash(one)); err != nil {
			t.Fatal(err)
		}
	}
	make := func(code, name, word string) answer {
		return c.post("/set-up", fields("code", code, "name", name, "new-password", word))
	}
	want(t, make("guessed", "ada", password), 422)
	for _, bad := range [][2]string{{"local", password}, {"Set-Up", password}, {"a b", password}, {"ada", "short"}, {"ada", "aaaaaaaaaaaaaaaaaaaaaa"}, {"ada", "correct horse battery staple"}} {
		a := want(t, make(code, bad[0], bad[1]), 422)
		if !strings.Contains(a.body, code) {
			t.Errorf("%q: the code has to be typed again", bad)
		}
	}
	c.exec(`update fenceline.brakes set tries = 99, held_to = now() + interval '1 minute'`)
	held := want(t, make(code, "ada", password), 429)
	if held.header.Get("Retry-After") == "" || !strings.Contains(held.body, "Too many tries. Wait "+held.header.Get("Retry-After")+" seconds, then try again.") || !strings.Contains(held.body, code) || !strings.Contains(held.body, `value="ada"`) {
		t.Errorf("%v: %s", held.header, excerpt(held.body))
	}
	c.exec(`delete from fenceline.brakes`)
	a := want(t, make(code, "ada", password), 303)
	_, header := cookieOf(t, a)
	if page := want(t, c.send("GET", "/account", "", header...), 200); !strings.Contains(page.body, "admin") {
		t.Errorf("%s", excerpt(page.body))
	}
	want(t, make(spare, "eve", password), 404)
	var codes int
	if err := c.owner.QueryRow(c.ctx, `select count(*) from fenceline.setup_codes`).Scan(&codes); err != nil || codes != 0 {
		t.Errorf("%d codes are left for when everybody is removed, %v", codes, err)
	}
	var invalid *store.InvalidError
	if _, err := c.store.AddPerson(c.ctx, "test", "ADA", store.Powers{Role: store.RoleViewer}, "x"); !errors.As(err, &invalid) || invalid.Field != "name" {
		t.Errorf("a name that people take for another's: %v", err)
	}
	want(t, c.get("/set-up"), 404)
	if _, err := c.store.SetUp(c.ctx, access.Hash(spare), "eve", "x"); err != store.ErrNoPerson {
		t.Errorf("a second first account: %v", err)
	}
}

func TestWhatWasTypedSurvivesTheEndOfASession(t *testing.T) {
	c := signing(t)
	job := text(c.enqueue(store.Request{}))
	reason := `the vendor's "file" was <b>cut</b> & resent`
	a := want(t, c.post("/jobs/"+job+"/terminate", fields("reason", reason, "seen", "1")), 401)
	if !strings.Contains(a.body, "the vendor&#39;s &#34;file&#34; was &lt;b&gt;cut&lt;/b&gt; &amp; resent") {
		t.Errorf("the reason is gone: %s", excerpt(a.body))
	}
	kept := fields("reason", reason, "seen", "1", "password", "s3cret")
	in := want(t, c.post("/sign-in", fields("name", "operator", "password", password, "kept-path", "/jobs/"+job+"/terminate", "kept-form", kept.Encode())), 200)
	if !strings.Contains(in.body, `action="/jobs/`+job+`/terminate"`) || !strings.Contains(in.body, "cut&lt;/b&gt;") || strings.Contains(in.body, "s3cret") {
		t.Errorf("%s", excerpt(in.body))
	}
	if got := len(c.transitions(1)); got != 1 {
		t.Errorf("%d transitions: something was sent by itself", got)
	}
	// Nothing is kept for what takes no form of the console, or must not be repeated.
	for _, path := range []string{"https://evil.test/", "/api/v1/jobs", "/account/password", "/jobs/1", "//evil.test/x/y", "/jobs/1/requeue?x=1"} {
		a := want(t, c.post("/sign-in", fields("name", "admin", "password", password, "kept-path", path, "kept-form", "a=b")), 303)
		if a.header.Get("Location") != "/" {
			t.Errorf("%s leads to %s", path, a.header.Get("Location"))
		}
		c.exec(`delete from fenceline.brakes`)
	}
}

func TestOverTLSCookiesAndBrowsersStayThere(t *testing.T) {
	c := signing(t, func(cfg *web.Config) {
		cfg.SignIn = &web.SignIn{Passwords: true, Origin: "https://jobs.example.org"}
		cfg.Hosts = []string{"jobs.example.org"}
	})
	a := want(t, c.post("/sign-in", fields("name", "viewer", "password", password), "Host", "jobs.example.org"), 303)
	cookie, _ := cookieOf(t, a)
	if !cookie.Secure || !strings.HasPrefix(cookie.Name, "__Host-") {
		t.Errorf("%v", cookie)
	}
	if got := a.header.Get("Strict-Transport-Security"); !strings.HasPrefix(got, "max-age=31536000") {
		t.Errorf("Strict-Transport-Security: %q", got)
	}
}

func TestASessionDoesNotComeBackByARequestThatWasUnderWay(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	p, err := st.AddPerson(t.Context(), "test", "ada", store.Powers{Role: store.RoleViewer}, "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.KeepSignIn(t.Context(), store.KeptSignIn{TokenHash: "h", PersonID: p.ID, Data: []byte{}, Idle: time.Hour, Most: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := st.EndSignIn(t.Context(), "h"); err != nil {
		t.Fatal(err)
	}
	if err := st.UseSignIn(t.Context(), "h", time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := st.SignedIn(t.Context(), "h"); err != store.ErrNoPerson {
		t.Errorf("%v", err)
	}
}
