package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker/request"
)

func TestAFileOfTargetsThatIsWrongIsRefusedByTheFieldsPath(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                               "line 1: is not JSON",
		"{\n\"targets\": {,":             "line 2: is not JSON",
		`[]`:                             "must be an object",
		`{"targets": []}`:                "targets: must be an object",
		`{"target": {}}`:                 "target: is not a field that is known here",
		`{"targets": {}, "targets": {}}`: "targets: is given twice",
		`{"targets": {"a": {"url": "https://canary.test", "urk": 1}}}`:                         "targets.a.urk: is not a field",
		`{"targets": {"a": {"url": ["canary"]}}}`:                                              "targets.a.url: must be a text",
		`{"targets": {"a": {"url": null}}}`:                                                    "targets.a.url: must be a text",
		`{"targets": {"a": {}}}`:                                                               "targets.a.url: is required",
		`{"targets": {"a": {"url": "canary"}}}`:                                                "targets.a.url: must begin with https:// or http://",
		`{"targets": {"a": {"url": "http://127.0.0.1/canary"}}}`:                               "targets.a.url: is at an address that is not public",
		`{"targets": {"a": {"url": "https://canary.test", "headers": {"X": 1}}}}`:              "targets.a.headers: must be an object of texts",
		`{"targets": {"a": {"url": "https://canary.test", "headers": {"Host": "canary"}}}}`:    "targets.a.headers: Host is set by Fenceline",
		`{"targets": {"a": {"url": "https://canary.test", "allow": ["canary"]}}}`:              `targets.a.allow: must be a list of networks`,
		`{"targets": {"a": {"url": "https://canary.test", "timeout": 10}}}`:                    `targets.a.timeout: must be a time, as "10s"`,
		`{"targets": {"a": {"url": "https://canary.test", "timeout": "1h"}}}`:                  "targets.a.timeout: 1h0m0s must be between",
		`{"targets": {"a": {"url": "https://canary.test", "ca_file": "/no/such"}}}`:            "targets.a.ca_file: stat /no/such",
		`{"targets": {"a": {"url": "https://canary.test", "secret": "whsec_%", "fields": 1}}}`: "targets.a.fields: must be an object",
		`{"targets": {"a": {"url": "https://canary.test", "secret": "whsec_%"}}}`:              "targets.a.secret: is not base64",
		`{"notify": {}}`:                     "notify: must be a list",
		`{"notify": [{"target": "canary"}]}`: "notify.0.target: names no target of this file",
		`{"notify": [{"target": 1}]}`:        "notify.0.target: must not be a JSON number",
		`{"notify": [{"to": "canary"}]}`:     `notify.0: unknown field "to"`,
		`{"notify": [{"target": "a"}, {"target": "a"}], "targets": {"a": {"url": "https://canary.test"}}}`:             "notify.1.target: is told already",
		`{"notify": [{"target": "a", "quiet": {"from": "canary"}}], "targets": {"a": {"url": "https://canary.test"}}}`: "notify.0.quiet.from: must be a time of day",
		`{"console": "canary"}`:                                "console: must be where people reach the console",
		`{"console": "https://x:canary@y.test"}`:               "console: must be where people reach the console",
		`{"targets": {"a b": {"url": "https://canary.test"}}}`: `targets: "a b": a name has`,
	} {
		if err := new(httpFile).read([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	file := filepath.Join(t.TempDir(), "targets.json")
	if err := os.WriteFile(file, []byte(`{"targets": {"a": {}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	runWith(t, append(inDir(data), "FENCELINE_HTTP="+file), "", "serve").complains(t, exitUsage, "--http", file+": targets.a.url: is required")
	runWith(t, inDir(data), "", "worker", "--http", "/no/such").complains(t, exitUsage, "--http", "/no/such")
	if _, err := os.Stat(data); err == nil {
		t.Error("a data directory was made")
	}
}

func TestAWorkerDeliversToTheTargetsOfItsFile(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Method + " " + r.URL.Path + " " + r.Header.Get("X-Key") + " " + string(body)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "targets.json")
	text := `{"targets": {"hook": {"url": "` + server.URL + `/in", "headers": {"x-key": "k"}, "fields": {"f": 1.0},
		"allow": ["127.0.0.0/8", "::1/128"], "timeout": "1m"},
		"room": {"url": "` + server.URL + `/room", "fields": {"key": "s"}, "allow": ["127.0.0.0/8", "::1/128"], "timeout": "1m"}},
		"notify": [{"target": "room", "severity": "high", "every": "0s"}], "console": "https://fenceline.example/"}`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	same(t, "the kind of notices", store.NoticeKind, request.Kind)
	db := migrated(t)
	w := begin(t, append(onDB(db), "FENCELINE_HTTP="+file), "worker")
	runWith(t, onDB(db), "", "enqueue", "http", "--args", `{"target": "hook", "path": "7", "body": {"n": 1}}`).wants(t, exitOK)
	eventually(t, "the delivery", func() bool { return len(got) == 1 })
	same(t, "the request", <-got, `POST /in/7 k {"f":1.0,"n": 1}`)
	eventually(t, "the result", func() bool {
		return query[int](t, db, `select count(*) from fenceline.jobs where state = 'completed' and result->>'status' = '200'`) == 1
	})
	if _, err := openStore(t, db).Watch(t.Context(), []store.Sighting{{Rule: "backlog", Scope: "queue mail", Severity: "high", What: "late"}}, time.Hour); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the notice", func() bool { return len(got) == 1 })
	if told := <-got; !strings.HasPrefix(told, `POST /room`) || !strings.Contains(told, `"key":"s"`) || !strings.Contains(told, `"url": "https://fenceline.example/incidents/1"`) {
		t.Errorf("told %s", told)
	}
	env := append(onDB(db), "FENCELINE_HTTP="+file)
	runWith(t, env, "", "incidents", "try", "nobody").complains(t, exitUsage, "nobody")
	runWith(t, env, "", "incidents", "try", "room").wants(t, exitOK)
	eventually(t, "the test", func() bool { return len(got) == 1 })
	if told := <-got; !strings.Contains(told, `"test": true`) {
		t.Errorf("told %s", told)
	}
	list := runWith(t, env, "", "incidents", "notices", "--json").wants(t, exitOK).object(t)["notices"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["target"] != "room" || list[0].(map[string]any)["told_by"] != "3" {
		t.Errorf("%v", list)
	}
	if text := runWith(t, env, "", "incidents", "notices").wants(t, exitOK).out; !strings.Contains(text, "room") || strings.Contains(text, "/room") {
		t.Errorf("%s", text)
	}
	w.signal(syscall.SIGTERM)
	same(t, "the exit code", w.wait(), exitOK)
	if !strings.Contains(w.err.String(), "give it the mode 0600") {
		t.Errorf("nobody was warned: %s", w.err)
	}
}
