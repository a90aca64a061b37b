package request_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker/request"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestARequestCarriesWhatItsTargetAddsAndItsAnswerIsTheResult(t *testing.T) {
	t.Parallel()
	server, got := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"n": 12345678901234567890.10}`)
	})
	secret := []byte("0123456789abcdef01234567")
	b := start(t, map[string]request.Target{"billing": {
		URL: server.URL + "/v1/?tenant=7", Allow: loopback, Headers: map[string]string{"Authorization": "Bearer canary-header"},
		Fields: map[string]json.RawMessage{"routing_key": raw(`"canary-field"`), "a": raw(`1.50`)},
		Secret: "whsec_" + base64.StdEncoding.EncodeToString(secret),
	}}, request.Options{})
	id := b.enqueue(`{"target": "billing", "method": "PUT", "path": "invoices/a%20b", "body": {"n": 98765432109876543210.50, "s": "<é>"}}`, 1)
	if r := b.result(id); r != `{"cut": false, "body": {"n": 12345678901234567890.10}, "status": 200}` {
		t.Errorf("result = %s", r)
	}
	r := <-got
	if want := `{"a":1.50,"routing_key":"canary-field","n": 98765432109876543210.50, "s": "<é>"}`; r.body != want {
		t.Errorf("body = %s, want %s", r.body, want)
	}
	job := b.view(id, store.Completed).Job
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Authorization": "Bearer canary-header", "Fenceline-Job": strconv.FormatInt(id, 10),
		"Fenceline-Attempt": job.AttemptID.String(), "Fenceline-Generation": "1", "User-Agent": "Fenceline",
	} {
		if v := r.Header.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if r.Method != "PUT" || r.RequestURI != "/v1/invoices/a%20b?tenant=7" {
		t.Errorf("%s %s", r.Method, r.RequestURI)
	}
	key := r.Header.Get("Idempotency-Key")
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", key, r.Header.Get("webhook-timestamp"), r.body)
	if len(key) != 36 || r.Header.Get("webhook-id") != key ||
		r.Header.Get("webhook-signature") != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		t.Errorf("signed: %v", r.Header)
	}
	b.result(b.enqueue(`{"target": "billing"}`, 1))
	if r := <-got; r.body != `{"a":1.50,"routing_key":"canary-field"}` || r.Method != "POST" || r.RequestURI != "/v1/?tenant=7" {
		t.Errorf("%s %s: %s", r.Method, r.RequestURI, r.body)
	}
	b.result(b.enqueue(`{"target": "billing", "method": "GET"}`, 1))
	if r := <-got; r.body != "" || r.Header.Get("Content-Type") != "" {
		t.Errorf("GET sends %q, %v", r.body, r.Header)
	}
	for args, want := range map[string]string{
		`{"target": "billing", "body": [1]}`:                  "args.body: must be an object",
		`{"target": "billing", "body": {"routing_key": "x"}}`: "args.body: holds a field that this target sets",
		`{"target": "other"}`:                                 `args.target: "other" is not among the targets`,
		`{"target": "billing", "path": "../x"}`:               "path: ",
		`{"target": "billing", "url": "x"}`:                   `unknown field "url"`,
		`{"target": "billing", "method": "TRACE"}`:            "method: must be one of",
		`{"target": "billing", "method": "GET", "body": 1}`:   "body: none is sent with GET",
		`{"body": 1}`: "target: is required",
	} {
		f, v := b.failure(b.enqueue(args, 3))
		if !strings.Contains(f.Message, want) || v.Job.Attempts != 1 {
			t.Errorf("%s: %q after %d attempts, want %q", args, f.Message, v.Job.Attempts, want)
		}
	}
	if len(got) != 0 {
		t.Errorf("%d requests were sent for args that are wrong", len(got))
	}
}

func TestHowARequestIsAnsweredDecidesAndNothingOfTheTargetIsTold(t *testing.T) {
	t.Parallel()
	hidden, reached := serve(t, func(http.ResponseWriter, *http.Request) {})
	free := make(chan struct{})
	t.Cleanup(func() { close(free) })
	server, got := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		status, err := strconv.Atoi(name)
		switch {
		case err == nil:
			w.Header().Set("Location", hidden.URL)
			w.WriteHeader(status)
			fmt.Fprintf(w, "%s %s because", r.Header.Get("Authorization"), r.URL)
		case name == "echo":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"header": %q, "url": %q, "kept": true}`, r.Header.Get("Authorization"), r.URL)
		case name == "huge":
			w.Write([]byte(strings.Repeat("x", 200_000)))
		case name == "text":
			io.WriteString(w, "ok \x00\xff")
		case name == "nul":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `"\u0000"`)
		case name == "empty":
			w.WriteHeader(http.StatusNoContent)
		case name == "slow":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-free:
			}
		case name == "later":
			w.Header().Set("Retry-After", "3000")
			w.WriteHeader(http.StatusServiceUnavailable)
		case name == "hangup":
			panic(http.ErrAbortHandler)
		case name == "longer":
			io.WriteString(w, "canary-header-of-another")
		case name == "across":
			io.WriteString(w, strings.Repeat("x", 64<<10-6)+"canary-field")
		case name == "switch":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: canary\r\n\r\n")
			<-free
		}
	})
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(t.Output(), "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	canary := request.Target{
		URL: server.URL + "/canary-path/", Allow: loopback, Headers: map[string]string{"Authorization": "Bearer canary-header"},
		Fields: map[string]json.RawMessage{"key": raw(`"canary-field"`), "other": raw(`"canary-header-of-another"`)}, Secret: "canary-secret",
	}
	with := func(change func(*request.Target)) request.Target {
		t := canary
		change(&t)
		return t
	}
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	b := start(t, map[string]request.Target{
		"it":    canary,
		"hasty": with(func(t *request.Target) { t.Timeout = 500 * time.Millisecond }),
		"tls":   with(func(t *request.Target) { t.URL = secure.URL + "/canary-path" }),
		"plain": with(func(t *request.Target) { t.URL = "https" + strings.TrimPrefix(server.URL, "http") + "/canary-path" }),
		"gone":  with(func(t *request.Target) { t.URL = gone.URL + "/canary-path" }),
		"inner": with(func(t *request.Target) { t.URL, t.Allow = "http://canary-host.test"+port, nil }),
	}, request.Options{Resolver: names(t, func() string { return "127.0.0.1" })})

	for _, c := range []struct {
		target, path, class, message string
		attempts                     int
	}{
		{"it", "500", "http 500", "it answered 500 Internal Server Error", 2},
		{"it", "503", "http 503", "it answered 503 Service Unavailable", 2},
		{"it", "429", "http 429", "it answered 429", 2},
		{"it", "408", "http 408", "it answered 408", 2},
		{"it", "425", "http 425", "it answered 425", 2},
		{"it", "404", "http 404", "it answered 404 Not Found", 1},
		{"it", "400", "http 400", "it answered 400", 1},
		{"it", "302", "http 302", "redirects are not followed", 1},
		{"it", "307", "http 307", "redirects are not followed", 1},
		{"it", "hangup", "connection", "the connection to it ended", 2},
		{"hasty", "slow", "timeout", "hasty did not answer to the end within 500ms", 2},
		{"tls", "200", "tls", "an authority that is not trusted", 2},
		{"plain", "200", "tls", "it does not speak TLS", 2},
		{"gone", "200", "dial", "gone could not be reached: connection refused", 2},
		{"inner", "200", "address refused", "inner is at an address that is not public", 1},
	} {
		f, v := b.failure(b.enqueue(fmt.Sprintf(`{"target": %q, "path": %q}`, c.target, c.path), 2))
		if f.Class != c.class || !strings.Contains(f.Message, c.message) || v.Job.Attempts != c.attempts {
			t.Errorf("%s/%s: %+v after %d attempts", c.target, c.path, f.AttemptError, v.Job.Attempts)
		}
		if strings.HasPrefix(c.class, "http ") && !strings.HasSuffix(f.Output, "because") {
			t.Errorf("%s/%s: kept %q", c.target, c.path, f.Output)
		}
	}
	// Behind this status the connection is nobody's, and no deadline ends a read.
	if f, v := b.failure(b.enqueue(`{"target": "hasty", "path": "switch"}`, 2)); f.Class != "http 101" || !strings.Contains(f.Message, "hasty answered 101 Switching Protocols") || v.Job.Attempts != 1 {
		t.Errorf("101: %+v after %d attempts", f.AttemptError, v.Job.Attempts)
	}
	for path, want := range map[string]string{
		"echo":  `{"cut": false, "body": {"url": "[masked]echo", "kept": true, "header": "[masked]"}, "status": 200}`,
		"huge":  `{"cut": true, "body": "` + strings.Repeat("x", 64<<10) + `", "status": 200}`,
		"text":  `{"cut": false, "body": "ok ��", "status": 200}`,
		"nul":   `{"cut": false, "body": "\"\\u0000\"", "status": 200}`,
		"empty": `{"cut": false, "body": null, "status": 204}`,
		// A secret lies across the end of what is kept.
		"across": `{"cut": true, "body": "` + strings.Repeat("x", 64<<10-6) + `", "status": 200}`,
		// One secret begins with another one.
		"longer": `{"cut": false, "body": "[masked]", "status": 200}`,
	} {
		if r := b.result(b.enqueue(fmt.Sprintf(`{"target": "it", "path": %q}`, path), 1)); r != want {
			t.Errorf("%s: %.200s, want %.200s", path, r, want)
		}
	}
	later := b.view(b.enqueue(`{"target": "it", "path": "later"}`, 2), store.Retryable)
	if last := later.Transitions[len(later.Transitions)-1]; later.Job.RunAt.Sub(last.At) < 3000*time.Second {
		t.Errorf("the next attempt comes at %s, after a failure at %s", later.Job.RunAt, last.At)
	}
	if len(reached) != 0 {
		t.Error("a redirect was followed")
	}
	keys := map[string]string{}
	for len(got) > 0 {
		r := <-got
		id, key := r.Header.Get("Fenceline-Job"), r.Header.Get("Idempotency-Key")
		if keys[id] == "" {
			keys[id] = key
		}
		if key == "" || keys[id] != key {
			t.Errorf("job %s: key %q, before %q", id, key, keys[id])
		}
	}
	b.holdsNo("canary", server.URL, "127.0.0.1:")
}

// holdsNo looks for texts in every table and in the log.
func (b *bench) holdsNo(texts ...string) {
	b.t.Helper()
	conn, err := pgx.Connect(b.t.Context(), b.url)
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close(b.t.Context())
	rows, err := conn.Query(b.t.Context(), `
		select table_name, (xpath('/table', query_to_xml(format('select t::text as row from fenceline.%I t', table_name), true, false, '')))[1]::text
		from information_schema.tables where table_schema = 'fenceline' and table_type = 'BASE TABLE'`)
	if err != nil {
		b.t.Fatal(err)
	}
	held := map[string]string{}
	var table, text string
	if _, err := pgx.ForEachRow(rows, []any{&table, &text}, func() error { held[table] = text; return nil }); err != nil {
		b.t.Fatal(err)
	}
	if !strings.Contains(held["jobs"], "[masked]") {
		b.t.Errorf("the tables were not read: %d", len(held))
	}
	b.log.mu.Lock()
	held["the log"] = string(b.log.text)
	b.log.mu.Unlock()
	for where, text := range held {
		for _, canary := range texts {
			if i := strings.Index(text, canary); i >= 0 {
				b.t.Errorf("%s holds %s: …%s", where, canary, text[max(0, i-100):min(len(text), i+100)])
			}
		}
	}
}

func TestANameThatComesToMeanAPrivateAddressIsRefused(t *testing.T) {
	t.Parallel()
	server, got := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Connection", "close") })
	var address atomic.Value
	address.Store("127.0.0.1")
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	b := start(t, map[string]request.Target{"it": {URL: "http://name.test" + port, Allow: loopback}, "other": {URL: "http://name.test" + port}},
		request.Options{Resolver: names(t, func() string { return address.Load().(string) })})
	b.result(b.enqueue(`{"target": "it"}`, 1))
	for _, private := range []string{"10.1.2.3", "169.254.169.254", "192.168.0.1", "100.64.0.1", "0.0.0.0"} {
		address.Store(private)
		if f, v := b.failure(b.enqueue(`{"target": "it"}`, 3)); f.Class != "address refused" || v.Job.Attempts != 1 {
			t.Errorf("%s: %+v", private, f.AttemptError)
		}
	}
	address.Store("")
	if f, _ := b.failure(b.enqueue(`{"target": "it"}`, 1)); f.Class != "dns" || strings.Contains(f.Message, "name.test") {
		t.Errorf("no such name: %+v", f.AttemptError)
	}
	if len(got) != 1 {
		t.Errorf("%d requests arrived", len(got))
	}
}

func TestARequestEndsWithItsLeaseAndTheNextAttemptCarriesTheSameKey(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	server, got := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Fenceline-Generation") == "1" {
			<-r.Context().Done()
			close(ended)
		}
	})
	b := start(t, map[string]request.Target{"it": {URL: server.URL, Allow: loopback, Timeout: 5 * time.Minute}}, request.Options{})
	id := b.enqueue(`{"target": "it"}`, 3)
	first := <-got
	conn, err := pgx.Connect(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `update fenceline.jobs set lease_until = clock_timestamp() - interval '1 second' where id = $1`, id); err != nil {
		t.Fatal(err)
	}
	b.result(id)
	second := <-got
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the request of the lost attempt goes on")
	}
	if key := first.Header.Get("Idempotency-Key"); key == "" || key != second.Header.Get("Idempotency-Key") {
		t.Errorf("keys %q and %q", key, second.Header.Get("Idempotency-Key"))
	}
	if g := second.Header.Get("Fenceline-Generation"); g != "2" {
		t.Errorf("generation %s", g)
	}
}

func TestATargetIsTrustedByItsOwnAuthorityAndSpokenToInHTTP2(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	b := start(t, map[string]request.Target{
		"it":    {URL: server.URL, Allow: loopback, CAFile: file},
		"other": {URL: "https://other.test" + port, Allow: loopback, CAFile: file},
	}, request.Options{Resolver: names(t, func() string { return "127.0.0.1" })})
	if r := b.result(b.enqueue(`{"target": "it"}`, 1)); !strings.Contains(r, `"HTTP/2.0"`) {
		t.Errorf("result = %s", r)
	}
	if f, _ := b.failure(b.enqueue(`{"target": "other"}`, 1)); f.Class != "tls" || !strings.Contains(f.Message, "another name") {
		t.Errorf("a certificate for another name: %+v", f.AttemptError)
	}
}
