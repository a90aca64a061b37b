package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMistakeOnTheCommandLineIsNamedAndNothingIsStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	for _, c := range []struct {
		args  string
		words string
	}{
		{"nonsense", "nonsense"},
		{"serve --nonsense", "--nonsense"},
		{"serve \x1b[31m\u202e", `unexpected argument \x1b[31m\u202e`},
		{"serve --workers many", "--workers"},
		{"serve --workers -1", "--workers"},
		{"serve --lease soon", "--lease"},
		{"serve --lease 1ms", "--lease: 1ms must be between 100ms and 24h"},
		{"serve --grace 1ms", "--grace"},
		{"serve --keep-jobs 1m", "--keep-jobs: 1m0s is too short: it must be at least 1h0m0s, or off"},
		{"serve --keep-jobs 30", "--keep-jobs"},
		{"serve --keep-jobs -1d", "--keep-jobs"},
		{"serve --keep-jobs 99999999999999d", "--keep-jobs"},
		{"worker --keep-transitions 23h", "--keep-transitions: 23h0m0s is too short"},
		{"worker --keep-transitions never", "--keep-transitions"},
		{"serve --queue mail", "--queue"},
		{"serve --queue mail=0", "--queue"},
		{"serve --queue a=1 --queue a=2", `--queue: "a" is given twice`},
		{"serve --command echo", "--command"},
		{"serve --command a=/bin/true --command a=/bin/false", `--command: "a" is given twice`},
		{"serve --listen 8080", "--listen"},
		{"serve --listen 0.0.0.0:8080", "loopback only"},
		{"serve --listen :8080", "loopback only"},
		{"serve --listen 192.0.2.1:8080", "loopback only"},
		{"serve --listen 0.0.0.0:8080 --sign-in passwords", "passwords would cross the network"},
		{"serve --listen 0.0.0.0:8080 --public-url https://jobs.example.org", "--sign-in passwords"},
		{"serve --sign-in magic", "--sign-in"},
		{"serve --sign-in oidc", "--oidc-issuer"},
		{"serve --sign-in oidc --oidc-issuer https://a.test --oidc-client x", "--public-url"},
		{"serve --sign-in oidc --oidc-issuer https://a.test --oidc-client x --public-url https://b.test", "--grant"},
		{"serve --sign-in proxy --grant *=viewer", "--proxy-from"},
		{"serve --sign-in proxy --grant *=viewer --proxy-from 10.0.0.5", "--proxy-from"},
		{"serve --sign-in proxy --grant *=root", "role: must be"},
		{"serve --sign-in proxy --grant viewer", "--grant"},
		{"serve --redact args.card=never", `--redact: rule "args.card=never", at 1: must be KIND:PART.PATH=EFFECT`},
		{"worker --redact *:args=mask --redact *:arg.card=never", `--redact: rule "*:arg.card=never", at 3: part: "arg" must be`},
		{"jobs show 1 --redact *:args.card=hide", `--redact: rule "*:args.card=hide", at 13: effect: "hide" must be`},
		{"serve --redact *:args..x=never", "at 8: path: holds an empty name"},
		{"serve --public-url jobs.example.org", "--public-url"},
		{"serve --public-url https://jobs.example.org/path", "--public-url"},
		{"serve --tls-cert x", "--tls-cert"},
		{"serve --session-idle 1s", "--session-idle"},
		{"serve --rate-changes -1", "--rate-changes"},
		{"serve --session-life 30m", "--session-life"},
		{"user add", "<name>"},
		{"user add ada --role root", "--role"},
		{"user add local", "name: is kept"},
		{"token add ada", "<name>"},
		{"token add ada ci --expires 0s", "--expires"},
		{"serve --prefix ops", "--prefix"},
		{"serve --listen 127.0.0.1:0 --owner-database-url postgres://x/y", "--owner-database-url"},
		{"serve --owner-database-url postgres://x/y --listen " + taken.Addr().String(), "--owner-database-url"},
		{"worker --owner-database-url postgres://x/y --metrics-listen " + taken.Addr().String(), "--owner-database-url"},
		{"worker --workers 0", "--queue"},
		{"worker --metrics-listen 9464", "--metrics-listen"},
		{"enqueue", "KIND"},
		{"enqueue --atomic report", "--atomic"},
		{"enqueue report --ndjson", "--ndjson"},
		{"enqueue --ndjson --queue x", "--ndjson"},
		{"enqueue report --priority 40000", "--priority"},
		{"enqueue report --max-attempts -1", "--max-attempts"},
		{"enqueue report --args @/does/not/exist", "--args"},
		{"jobs list --limit 0", "--limit"},
		{"jobs list --limit 501", "--limit"},
		{"jobs list --state done", "--state"},
		{"jobs list --search stat:running", "--search: stat:running (at character 1) names no field"},
		{"jobs list --order best", "--order"},
		{"jobs list --after x", "--after"},
		{"jobs show", "id"},
		{"jobs show twelve", "id"},
		{"jobs requeue 1", "--reason"},
		{"jobs terminate 1 --reason x --seen 0", "--seen"},
		{"jobs terminate 1 --reason x --seen new", "--seen"},
		{"drill --lease 1h", "--lease"},
		{"operations preview requeue", "--search or --job"},
		{"operations preview erase --search x", "requeue or terminate"},
		{"operations preview requeue --search stat:x", "--search"},
		{"operations confirm 1", "--reason"},
		{"operations confirm 1 --reason x --halt-above 100", "--halt-above"},
		{"operations confirm 1 --reason x --seen 0", "--seen"},
		{"operations skipped 1 --limit 0", "--limit"},
		{"queues pause --reason x", "--queue"},
		{"queues pause --queue a --all --reason x", "--queue"},
		{"queues limit --queue a", "--reason"},
		{"workers drain w", "--reason"},
		{"bench --jobs 0", "--jobs"},
		{"bench --slots 0", "--slots"},
		{"verify --log-level loud", "--log-level"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			runWith(t, inDir(data), "", strings.Fields(c.args)...).complains(t, exitUsage, c.words)
			if _, err := os.Stat(data); err == nil {
				t.Error("a data directory was made")
			}
		})
	}
}

func TestAProgramThatCannotBeRunIsNamed(t *testing.T) {
	t.Parallel()
	r := runWith(t, onDB(migrated(t)), "", "worker", "--command", "echo=/does/not/exist")
	r.complains(t, exitUsage, "--command", `"echo"`, "/does/not/exist")
}

func TestHelpIsPrintedForEveryVerb(t *testing.T) {
	t.Parallel()
	top := runWith(t, nil, "", "--help").wants(t, exitOK)
	if bare := runWith(t, nil, "").wants(t, exitOK); bare.out != top.out {
		t.Error("without arguments the help is another one")
	}
	if asked := runWith(t, nil, "", "help", "jobs", "list").wants(t, exitOK); asked.out != runWith(t, nil, "", "jobs", "list", "--help").out {
		t.Error("the help that is asked for by a word is another one")
	}
	for _, verb := range []string{"serve", "worker", "migrate", "enqueue", "jobs list", "jobs show", "jobs requeue",
		"jobs terminate", "operations preview", "operations confirm", "operations list", "operations show", "operations skipped", "operations pause",
		"operations resume", "operations cancel", "queues list", "queues pause", "queues resume", "queues limit", "workers list", "workers drain", "workers resume", "verify", "doctor", "rollups rebuild", "drill", "bench", "version"} {
		if !strings.Contains(top.out, verb) {
			t.Errorf("the help does not name %s", verb)
		}
		r := runWith(t, nil, "", append(strings.Fields(verb), "--help")...).wants(t, exitOK)
		if !strings.Contains(r.out, "Usage: fenceline "+verb) {
			t.Errorf("the help of %s: %s", verb, r.out)
		}
	}
	if strings.Contains(top.out, "drill-worker") {
		t.Error("the help names a verb that is not for people")
	}
}

func TestTheVersionIsPrinted(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if r := runWith(t, nil, "", args...).wants(t, exitOK); !strings.HasPrefix(r.out, "fenceline ") {
			t.Errorf("%v prints %q", args, r.out)
		}
	}
	if v := runWith(t, nil, "", "version", "--json").wants(t, exitOK).object(t); v["version"] == "" || v["go"] == "" {
		t.Errorf("version --json prints %v", v)
	}
}
