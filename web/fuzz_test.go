package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/web"
)

// target is a console that is sent raw bytes: nothing that a client's library
// would refuse to send is spared.
type target struct {
	address string
	job     int64
}

func newTarget(tb testing.TB) *target {
	tb.Helper()
	st := storetest.New(tb)
	hub := events.NewHub(st, events.Config{})
	running, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); hub.Run(running) }()
	server, err := web.New(web.Config{Store: st, Hub: hub, Version: "test"})
	if err != nil {
		tb.Fatal(err)
	}
	front := httptest.NewServer(server.Handler())
	tb.Cleanup(func() {
		server.Close()
		front.Close()
		stop()
		<-ended
	})
	job, err := st.Enqueue(context.Background(), store.Request{Kind: "report", Key: "target"})
	if err != nil {
		tb.Fatal(err)
	}
	return &target{front.Listener.Addr().String(), job.ID}
}

// hold sends a request and fails when the answer is the server's fault: none at
// all, as after a panic, or a status from 500 on.
func (g *target) hold(t *testing.T, request string) (status int) {
	t.Helper()
	conn, err := net.Dial("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	go io.WriteString(conn, request) // a server that has heard enough reads no further
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%v after %q", err, request)
	}
	// A stream never ends: its body is left where it is, with the connection.
	if answer.StatusCode >= 500 {
		t.Fatalf("%s after %q", answer.Status, request)
	}
	return answer.StatusCode
}

func (g *target) get(path string, header ...string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + strings.Join(header, "") + "\r\n"
}

func (g *target) post(path, kind, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nSec-Fetch-Site: same-origin\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", path, kind, len(body), body)
}

const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
)

// nasty are values that some parser has once taken for something else.
var nasty = []string{
	"", "0", "-1", "1", "9223372036854775807", "9223372036854775808", "18446744073709551615", "1e9", "0x10", " 1", "+1", "١", "NaN",
	"'; drop table fenceline.jobs; --", "<script>alert(1)</script>", "javascript:alert(1)", "\x00", "\ufeff", "\xff\xfe", "\xed\xa0\x80",
	"%00", "%zz", "%", "&&&", "a=1;b=2", "..", "../../etc/passwd", "\u202egnp.exe", strings.Repeat("a", 5000), strings.Repeat("%41", 2000),
	"job:1", "job:-1", "rows:1,2,3", "rows:" + strings.Repeat("1,", 600), "jobs:kind=%ff", "home", "null", "[]", "{}", "true", "${jndi:ldap://x}", "{{7*7}}", "\r\nX: y",
}

// parametersOf is what may stand behind the question mark of each address that
// the API's document has for GET.
func parametersOf(d specification) map[string][]string {
	of := map[string][]string{}
	for path, methods := range d.Paths {
		var get struct{ Parameters []struct{ Name, In string } }
		if raw, is := methods["get"]; is && json.Unmarshal(raw, &get) == nil {
			of[path] = nil
			for _, p := range get.Parameters {
				if p.In == "query" {
					of[path] = append(of[path], p.Name)
				}
			}
		}
	}
	return of
}

var nastyBodies = []string{
	``, `{`, `{}`, `[]`, `null`, `{"kind":"a"}`, `{"kind":"a","args":{"a":"\u0000"}}`, `{"kind":"a","args":"\ud800"}`, `{"kind":"a","args":1e400}`,
	`{"kind":"a","kind":"b"}`, `{"kind":1}`, `{"kind":null}`, `{"kind":"a","priority":99999}`, `{"kind":"a","max_attempts":-1}`, `{"kind":"a","run_at":"yesterday"}`,
	`{"kind":"a","run_at":"0000-00-00T00:00:00Z"}`, `{"kind":"a","run_at":"9999-12-31T23:59:59+23:59"}`, `{"kind":"a","tags":[1]}`, `{"kind":"a","tags":["",""]}`,
	`{"seen":{"revision":"1"},"reason":"x"}`, `{"seen":{"revision":9223372036854775808},"reason":"x"}`, `{"seen":{"revision":1},"reason":"\u0000"}`,
	`{"kind":"a"} {"kind":"b"}`, `{"kind":"` + strings.Repeat("k", 3000) + `"}`, `{"kind":"a","args":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
	"\xff\xfe{\x00}", "{\"kind\":\"a\xff\"}", `{"kind":"a","args":{"":{"":{"":0}}}}`, `{"kind":"a","key":"target"}`, `{"unknown":1}`,
}

func FuzzBody(f *testing.F) {
	for _, body := range nastyBodies {
		f.Add(body, uint8(len(body)))
	}
	g := newTarget(f)
	f.Fuzz(func(t *testing.T, body string, which uint8) {
		path := []string{"/api/v1/jobs", fmt.Sprintf("/api/v1/jobs/%d/requeue", g.job), fmt.Sprintf("/api/v1/jobs/%d/terminate", g.job)}[which%3]
		g.hold(t, g.post(path, typeJSON, body))
	})
}

func FuzzForm(f *testing.F) {
	for _, value := range nasty {
		f.Add("reason=x&seen="+value, uint8(len(value)))
		f.Add("seen=1&reason="+value, uint8(len(value)))
	}
	g := newTarget(f)
	f.Fuzz(func(t *testing.T, body string, which uint8) {
		path := []string{"requeue", "terminate", "reveal"}[which%3]
		g.hold(t, g.post(fmt.Sprintf("/jobs/%d/%s", g.job, path), typeForm, body))
	})
}

func FuzzLastEventID(f *testing.F) {
	for _, value := range nasty {
		f.Add(value)
	}
	g := newTarget(f)
	f.Fuzz(func(t *testing.T, id string) {
		for _, path := range []string{fmt.Sprintf("/api/v1/jobs/%d/transitions/stream", g.job), fmt.Sprintf("/stream?topic=job:%d", g.job)} {
			g.hold(t, g.get(path, "Last-Event-ID: "+id+"\r\n"))
		}
	})
}

// FuzzQuery holds cursors, filters and topics.
func FuzzQuery(f *testing.F) {
	names := []string{"before", "after", "state", "kind", "key", "limit", "topic"}
	for i, value := range nasty {
		f.Add(names[i%len(names)] + "=" + value)
	}
	g := newTarget(f)
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/jobs", "/api/v1/jobs", fmt.Sprintf("/api/v1/jobs/%d/transitions", g.job), "/stream"} {
			g.hold(t, g.get(path+"?"+query))
		}
	})
}

func FuzzHost(f *testing.F) {
	for _, value := range append(nasty, "localhost", "localhost:80", "127.0.0.1", "[::1]:1", "::1", "LOCALHOST.", "evil.example", "localhost.evil.example", "[", "]:", ":") {
		f.Add(value)
	}
	g := newTarget(f)
	f.Fuzz(func(t *testing.T, host string) {
		g.hold(t, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
	})
}

// Reliability tests 58 to 61: every place of every request, with every value.
func TestHostileRequestsAreNobodysFaultButTheClients(t *testing.T) {
	t.Parallel()
	g := newTarget(t)
	n, refused := 0, 0
	send := func(request string) {
		n++
		if g.hold(t, request) >= 400 {
			refused++
		}
	}
	for _, value := range nasty {
		for _, path := range []string{"/jobs/", "/api/v1/jobs/", "/static/", "/", "/api/", "/nowhere/"} {
			send(g.get(path + value))
		}
		for _, name := range []string{"state", "kind", "before", "limit", "q", "search", "order", "columns"} {
			send(g.get("/jobs?" + name + "=" + value))
			send(g.get("/api/v1/jobs?" + name + "=" + value))
		}
		for _, header := range []string{"Last-Event-ID", "Cookie", "Accept", "Sec-Fetch-Site", "X-Forwarded-For", "Accept-Encoding"} {
			send(g.get("/jobs", header+": "+value+"\r\n"))
		}
		send(g.post("/jobs/search", typeForm, "q="+value+"&was="+value+"&f-kind="+value+"&f-older="+value+"&search="+value))
		send(g.get("/stream?topic="+value, "Last-Event-ID: "+value+"\r\n"))
		send(g.get("/stream?topic=operation:" + value))
		send(g.get("/operations/" + value))
		send(g.get("/audit?job=" + value + "&from=" + value + "&after=" + value))
		send(g.get("/api/v1/audit?actor=" + value + "&to=" + value))
		send(g.get("/audit/export?format=csv&operation=" + value + "&outcome=" + value))
		send(g.post("/operations", typeForm, "do=requeue+ticked&t-1="+value+"&t-"+value+"=1"))
		send(g.post("/operations", typeForm, "do="+value+"&q="+value+"&search="+value+"&order="+value))
		send(g.post("/operations/1/confirm", typeForm, "seen="+value+"&reason="+value+"&pace="+value+"&halt_above="+value))
		for _, path := range []string{"requeue", "terminate", "reveal"} {
			send(g.post("/jobs/"+fmt.Sprint(g.job)+"/"+path, typeForm, "seen="+value+"&reason="+value))
		}
	}
	for path, parameters := range parametersOf(readSpecification(t)) {
		for _, value := range nasty {
			for _, name := range parameters {
				send(g.get(strings.NewReplacer("{id}", fmt.Sprint(g.job), "{version}", "1").Replace(path) + "?" + name + "=" + value))
			}
			if id := strings.Index(path, "{"); id >= 0 {
				send(g.get(path[:id] + value + strings.ReplaceAll(path[id+len("{id}"):], "{version}", value)))
			}
		}
	}
	for _, name := range []string{"%00", "%ff", "%ED%A0%80", strings.Repeat("a", 5000)} {
		for _, page := range []string{"/queues?name=", "/queues?kind=", "/workers?id=", "/?at="} {
			send(g.get(page + name))
		}
		// What is no name is refused at once: it would be read anew for ever.
		for _, topic := range []string{"queue:", "kind:", "worker:"} {
			if status := g.hold(t, g.get("/stream?topic="+topic+url.QueryEscape(name))); status != http.StatusUnprocessableEntity {
				t.Errorf("the topic %s and %.9q is answered with %d", topic, name, status)
			}
		}
	}
	for _, body := range nastyBodies {
		for _, path := range []string{"/api/v1/jobs", fmt.Sprintf("/api/v1/jobs/%d/requeue", g.job), fmt.Sprintf("/api/v1/jobs/%d/terminate", g.job),
			"/api/v1/operations", "/api/v1/operations/1/confirm", "/api/v1/queues/pause", "/api/v1/workers/drain"} {
			for _, kind := range []string{typeJSON, typeForm, "text/plain", typeJSON + "; charset=utf-7"} {
				send(g.post(path, kind, body))
			}
		}
	}
	if n < 1000 || refused == 0 || refused == n {
		t.Errorf("%d requests, %d refused", n, refused)
	}
	t.Logf("%d hostile requests, %d refused, 0 answered with 5xx, 0 panics", n, refused)
}
