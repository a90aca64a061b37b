package web_test

import (
	"strings"
	"testing"

	"github.com/fenceline/fenceline/store"
)

// Every address that changes something, asked in every way in which a page of
// another site can ask, with the cookie of somebody who may.
func TestNoOtherSiteChangesAnything(t *testing.T) {
	c := signing(t)
	id := text(c.enqueue(store.Request{}))
	admin := c.as("admin")
	for _, r := range c.Routes() {
		if r.Method != "POST" {
			continue
		}
		path := strings.ReplaceAll(r.Path, ":id", id)
		kind, body := "application/x-www-form-urlencoded", "reason=x&seen=1&as=page"
		if strings.HasPrefix(path, "/api/") {
			kind, body = "application/json", `{"reason":"x","seen":{"revision":1}}`
		}
		for what, header := range map[string][]string{
			"another site":           {"Sec-Fetch-Site", "cross-site", "Content-Type", kind},
			"another host of ours":   {"Sec-Fetch-Site", "same-site", "Content-Type", kind},
			"another origin":         {"Origin", "https://evil.test", "Content-Type", kind},
			"an origin that is none": {"Origin", "null", "Content-Type", kind},
			"nowhere":                {"Content-Type", kind},
		} {
			if a := c.send("POST", path, body, append(header, admin...)...); a.status != 403 {
				t.Errorf("%s from %s: %d", path, what, a.status)
			}
		}
		if a := c.send("POST", path, body, append([]string{"Sec-Fetch-Site", "same-origin", "Content-Type", "text/plain"}, admin...)...); a.status != 415 && a.status != 404 {
			t.Errorf("%s as plain text: %d", path, a.status)
		}
		switch a := c.send("GET", path, "", admin...); {
		case a.status == 200 && path != "/sign-in" && path != "/set-up" && path != "/operations" && path != "/people" && path != "/incidents/replay" && !strings.HasPrefix(path, "/api/v1/"):
			t.Errorf("GET %s: %d", path, a.status)
		}
	}
	if got := len(c.transitions(1)); got != 1 {
		t.Errorf("the job has %d transitions", got)
	}
	// Nor does it have somebody recorded as having looked, by leading them to the API.
	reveals := func() (n int) {
		t.Helper()
		if err := c.owner.QueryRow(c.ctx, `select count(*) from fenceline.audit where action = 'reveal' and outcome = 'done'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := reveals()
	for _, path := range []string{"/api/v1/jobs/" + id, "/api/v1/jobs/" + id + "/args/1"} {
		for _, site := range []string{"cross-site", "same-site"} {
			want(t, c.send("GET", path, "", append([]string{"Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate"}, admin...)...), 200)
		}
	}
	if got := reveals(); got != before {
		t.Errorf("%d reveals are recorded that another site asked for", got-before)
	}
	want(t, c.send("GET", "/api/v1/jobs/"+id, "", append([]string{"Sec-Fetch-Site", "none"}, admin...)...), 200)
	if got := reveals(); got != before+1 {
		t.Errorf("who goes there themselves is recorded %d times", got-before)
	}
	want(t, c.send("GET", "/", "", admin...), 200) // and is still signed in
}

func TestEveryAnswerKeepsBrowsersFromDoingMore(t *testing.T) {
	c := signing(t)
	admin := c.as("admin")
	for _, path := range []string{"/", "/jobs", "/jobs/999", "/nothing", "/sign-in", "/account", "/static/none", "/healthz", "/readyz", "/api/v1/jobs", "/api/v1/nothing"} {
		for _, header := range [][]string{nil, admin} {
			a := c.send("GET", path, "", header...)
			for name, part := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
				"Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
			} {
				if !strings.Contains(a.header.Get(name), part) {
					t.Errorf("%s: %s is %q", path, name, a.header.Get(name))
				}
			}
			csp := a.header.Get("Content-Security-Policy")
			if !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") || a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: %v", path, a.header)
			}
			if got := a.header.Get("Strict-Transport-Security"); got != "" {
				t.Errorf("%s: %q without TLS", path, got)
			}
			if strings.Contains(a.body, " style=") || strings.Contains(a.body, "<script>") || strings.Contains(a.body, " onclick=") {
				t.Errorf("%s holds script or style", path)
			}
		}
	}
	// Headers have a bound, and one beyond it is nobody's session.
	if a := c.send("GET", "/jobs", "", "Cookie", "fenceline="+strings.Repeat("x", 60<<10)); a.status >= 500 {
		t.Errorf("a long cookie: %d", a.status)
	}
}
