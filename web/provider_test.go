package web_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web"
)

// provider is an OpenID provider: discovery, keys, codes with PKCE, tokens.
type provider struct {
	t   *testing.T
	url string
	key *rsa.PrivateKey

	mu     sync.Mutex
	asked  map[string]url.Values // by code: the question it answers
	claims map[string]any        // of whoever signs in next; they win over what is right
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key, asked: map[string]url.Values{}}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = server.URL
	send := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		send(w, map[string]any{"issuer": p.url, "authorization_endpoint": p.url + "/authorize", "token_endpoint": p.url + "/token",
			"jwks_uri": p.url + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		send(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "one", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		r.ParseForm()
		q, known := p.asked[r.PostForm.Get("code")]
		delete(p.asked, r.PostForm.Get("code"))
		id, secret, _ := r.BasicAuth()
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !known || id != "fenceline" || secret != "s3cret" || q.Get("code_challenge_method") != "S256" ||
			base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") || r.PostForm.Get("redirect_uri") != q.Get("redirect_uri") {
			w.WriteHeader(400)
			send(w, map[string]string{"error": "invalid_grant", "error_description": "hush-hush"})
			return
		}
		send(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.sign(q.Get("nonce"))})
	})
	return p
}

func (p *provider) sign(nonce string) string {
	all := map[string]any{"iss": p.url, "aud": "fenceline", "sub": "u-1", "nonce": nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix()}
	for name, value := range p.claims {
		all[name] = value
	}
	key := p.key
	if all["key"] == "another" {
		key, _ = rsa.GenerateKey(rand.Reader, 2048)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "one"))
	if err != nil {
		p.t.Error(err)
	}
	body, _ := json.Marshal(all)
	signed, err := signer.Sign(body)
	if err != nil {
		p.t.Error(err)
	}
	text, _ := signed.CompactSerialize()
	return text
}

// answers is a person at the provider: a code for the question.
func (p *provider) answers(question string, claims map[string]any) (code, state string) {
	p.t.Helper()
	u, err := url.Parse(question)
	if err != nil || !strings.HasPrefix(question, p.url+"/authorize?") {
		p.t.Fatalf("led to %q", question)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code = "code-" + rand.Text()
	p.asked[code], p.claims = u.Query(), claims
	return code, u.Query().Get("state")
}

func TestAnOpenIDProviderVouchesForPeople(t *testing.T) {
	p := newProvider(t)
	c := open(t, func(cfg *web.Config) {
		cfg.SignIn = &web.SignIn{Origin: "http://jobs.test", Provider: &web.Provider{
			Issuer: p.url, ClientID: "fenceline", ClientSecret: "s3cret", Domains: []string{"example.com"},
			Grants: []web.Grant{
				{Group: web.Everybody, Powers: store.Powers{Role: store.RoleViewer, Queues: []string{"none"}}},
				{Group: "ops", Powers: store.Powers{Role: store.RoleOperator, Rights: []store.Right{store.RightBulk}}},
			},
		}}
	})
	ask := func() (string, []string) {
		t.Helper()
		a := want(t, c.post("/sign-in/provider", fields("next", "/jobs")), 200)
		_, header := cookieOf(t, a)
		return strings.TrimPrefix(a.header.Get("Refresh"), "0; url="), header
	}
	back := func(claims map[string]any) answer {
		t.Helper()
		question, header := ask()
		code, state := p.answers(question, claims)
		return c.send("GET", "/sign-in/return?code="+code+"&state="+state, "", header...)
	}
	good := map[string]any{"email": "Ada@Example.com", "email_verified": true, "groups": []string{"ops", "all"}}
	with := func(pairs ...any) map[string]any {
		out := map[string]any{}
		for name, value := range good {
			out[name] = value
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	a := want(t, back(good), 303)
	if a.header.Get("Location") != "/jobs" {
		t.Errorf("led on to %s", a.header.Get("Location"))
	}
	_, header := cookieOf(t, a)
	page := want(t, c.send("GET", "/account", "", header...), 200)
	if !strings.Contains(page.body, "Ada@Example.com") || !strings.Contains(page.body, ">operator<") || strings.Contains(page.body, "Change your password") {
		t.Errorf("%s", excerpt(page.body))
	}
	// What the groups give is what holds, from the next sign-in on.
	a = want(t, back(with("groups", []string{"all"})), 303)
	_, header = cookieOf(t, a)
	if page := want(t, c.send("GET", "/account", "", header...), 200); !strings.Contains(page.body, ">viewer<") {
		t.Errorf("%s", excerpt(page.body))
	}
	if got := c.peopleAudit(0); got != "sign-in person_add done Ada@Example.com\nsign-in person_powers done Ada@Example.com 1→2" {
		t.Errorf("the audit says %s", got)
	}
	// Whom the provider still knows but nobody lets in any more is out everywhere.
	want(t, back(with("email_verified", false)), 403)
	want(t, c.send("GET", "/account", "", header...), 303)
	ada := store.SeenPerson{Name: "Ada@Example.com"}
	if _, err := c.store.Disable(c.ctx, "test", ada); err != nil {
		t.Fatal(err)
	}
	if a := want(t, back(good), 403); !strings.Contains(a.body, "Your account is disabled here.") || a.header.Get("Set-Cookie") != "" {
		t.Errorf("%s", excerpt(a.body))
	}
	if p, err := c.store.Enable(c.ctx, "test", ada); err != nil || p.Role != store.RoleViewer {
		t.Errorf("%+v, %v", p, err)
	}
	for what, claims := range map[string]map[string]any{
		"a domain that begins alike":  with("email", "ops@example.com.evil.test"),
		"a domain that ends alike":    with("email", "ops@evil-example.com"),
		"a domain below":              with("email", "ops@sub.example.com"),
		"two at signs":                with("email", "ops@example.com@evil.test"),
		"an address nobody verified":  with("email_verified", false),
		"no address":                  with("email", ""),
		"another audience":            with("aud", "another"),
		"made for another client":     with("aud", []string{"another", "fenceline"}, "azp", "another"),
		"another issuer":              with("iss", "https://evil.test"),
		"another nonce":               with("nonce", "x"),
		"an old token":                with("exp", time.Now().Add(-time.Hour).Unix()),
		"a signature of another's":    with("key", "another"),
		"somebody else's name":        with("sub", "u-2"),
		"a name that cannot be shown": with("email", "<b>@example.com"),
	} {
		a := back(claims)
		if a.status != 403 || a.header.Get("Set-Cookie") != "" || strings.Contains(a.body, "<b>@") {
			t.Errorf("%s: %d %v", what, a.status, a.header)
		}
	}
	// An answer is for the browser that asked, and for once.
	question, mine := ask()
	code, state := p.answers(question, good)
	_, other := ask()
	want(t, c.send("GET", "/sign-in/return?code="+code+"&state="+state, "", other...), 403)
	want(t, c.get("/sign-in/return?code="+code+"&state="+state), 403)
	want(t, c.send("GET", "/sign-in/return?code="+code+"&state=x", "", mine...), 403)
	want(t, c.send("GET", "/sign-in/return?code="+code+"&state="+state, "", mine...), 303)
	want(t, c.send("GET", "/sign-in/return?code="+code+"&state="+state, "", mine...), 403)
	want(t, c.post("/sign-in", fields("name", "Ada@Example.com", "password", "")), 404) // no passwords here
	for range 30 {                                                                      // whoever comes again and again is refused each time, and recorded for a while
		want(t, c.get("/sign-in/return?code=x&state=x"), 403)
	}
	var recorded int
	if err := c.owner.QueryRow(c.ctx, `select count(*) from fenceline.audit where action = 'sign_in' and outcome = 'refused'`).Scan(&recorded); err != nil || recorded < 16 || recorded > 30 {
		t.Errorf("%d refusals are recorded, %v", recorded, err)
	}
}

func TestAProviderThatIsAwayIsToldAndAskedAgain(t *testing.T) {
	c := open(t, func(cfg *web.Config) {
		cfg.SignIn = &web.SignIn{Origin: "http://jobs.test", Provider: &web.Provider{Issuer: "http://127.0.0.1:1", ClientID: "x"}}
	})
	for range 2 {
		if a := want(t, c.post("/sign-in/provider", fields()), 503); !strings.Contains(a.body, "does not answer") {
			t.Errorf("%s", excerpt(a.body))
		}
	}
}

func TestAProxyIsBelievedFromItsOwnAddressOnly(t *testing.T) {
	grants := []web.Grant{{Group: "ops", Powers: store.Powers{Role: store.RoleOperator}}}
	trusting := func(from string) *console {
		return openMore(t, func(cfg *web.Config) {
			cfg.SignIn = &web.SignIn{Proxied: &web.Proxied{From: []netip.Prefix{netip.MustParsePrefix(from)}, UserHeader: "X-Forwarded-User", GroupsHeader: "X-Forwarded-Groups", Grants: grants}}
		})
	}
	t.Parallel()
	c := trusting("127.0.0.0/8")
	id := text(c.enqueue(store.Request{}))
	ada := []string{"X-Forwarded-User", "ada@example.com", "X-Forwarded-Groups", "all, ops"}
	want(t, c.send("GET", "/", "", ada...), 200)
	want(t, c.post("/jobs/"+id+"/terminate", fields("reason", "x", "seen", "1", "actor", "eve"), ada...), 303)
	all := c.transitions(1)
	if got := all[len(all)-1].Actor; got != "ada@example.com" {
		t.Errorf("recorded as %q", got)
	}
	want(t, c.send("GET", "/", "", "X-Forwarded-User", "ada", "X-Forwarded-Groups", "ops-readers"), 403)
	want(t, c.send("GET", "/", "", "X-Forwarded-User", "local", "X-Forwarded-Groups", "ops"), 403)
	want(t, c.send("GET", "/", "", "X-Forwarded-Groups", "ops"), 303)
	want(t, c.send("GET", "/", "", append(ada, "X-Forwarded-User", "ada,admin")...), 403)
	stranger := trusting("192.0.2.0/24")
	want(t, stranger.send("GET", "/", "", ada...), 303)
	want(t, stranger.send("GET", "/", "", append(ada, "X-Forwarded-For", "192.0.2.1", "X-Real-Ip", "192.0.2.1", "Forwarded", "for=192.0.2.1")...), 303)
}

func TestWhereTriesComeFromIsWhatANamedProxySaysAndNobodyElse(t *testing.T) {
	t.Parallel()
	behind := func(proxy string) *console {
		return openMore(t, func(cfg *web.Config) {
			cfg.SignIn = &web.SignIn{Passwords: true, Proxies: []netip.Prefix{netip.MustParsePrefix(proxy)}}
		})
	}
	c := behind("127.0.0.1/32")
	held := func(c *console, from string) bool {
		t.Helper()
		a := c.post("/sign-in", fields("name", "ada", "password", "x"), "X-Forwarded-For", from)
		c.exec(`delete from fenceline.brakes where key like 'account:%'`)
		return a.status == 429
	}
	held(c, "192.0.2.66, 2001:db8:0:1::1") // who is in front of the proxy is what it says, and no more
	c.exec(`update fenceline.brakes set held_to = now() + interval '1 minute' where key like 'address:%'`)
	for from, want := range map[string]bool{"2001:db8:0:1::1": true, "2001:db8:0:1:ffff::2": true, "192.0.2.66, 2001:db8:0:1::3": true, "2001:db8:0:2::1": false, "192.0.2.66": false} {
		if got := held(c, from); got != want {
			t.Errorf("%s is held up: %v, wanted %v", from, got, want)
		}
	}
	var address string
	if err := c.owner.QueryRow(c.ctx, `select detail ->> 'address' from fenceline.audit where action = 'sign_in' order by id limit 1`).Scan(&address); err != nil || address != "2001:db8:0:1::1" {
		t.Errorf("recorded from %q, %v", address, err)
	}
	c = behind("192.0.2.0/24")
	held(c, "192.0.2.1")
	c.exec(`update fenceline.brakes set held_to = now() + interval '1 minute' where key like 'address:%'`)
	if !held(c, "192.0.2.2") {
		t.Error("what a stranger says of their address is believed")
	}
}
