package main

import (
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
)

func TestThePasswordOfAnAddressIsNeverPrinted(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://u:hunter2@127.0.0.1:1/db",
		"postgres://u:hunter2@127.0.0.1:bad/db",
		"postgres://u:hunter2@127.0.0.1:1/db?sslmode=nonsense",
		"postgres://u:hunter2@[::1/db",
		"postgres://u:hunter2%zz@127.0.0.1:1/db",
		"postgres://u:hun@ter2hunter2@127.0.0.1:1/db",
		"postgres://127.0.0.1:1/db?user=u&password=hunter2",
		"host=127.0.0.1 port=1 user=u password=hunter2",
		"host=127.0.0.1 port=none password = 'hunter2'",
		"host=127.0.0.1 password='hunter2",
		"hunter2",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for _, env := range [][]string{
				onDB(dsn),
				{"DATABASE_URL=postgres://127.0.0.1:1/db", "FENCELINE_OWNER_DATABASE_URL=" + dsn},
			} {
				r := runWith(t, append(env, "FENCELINE_LOG_LEVEL=debug"), "", "serve", "--listen", "127.0.0.1:0")
				if r.code == 0 || strings.Contains(r.out+r.err, "hunter2") {
					t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
				}
				if !strings.HasPrefix(r.err, "fenceline: ") || strings.Count(r.err, "\n") != 1 {
					t.Errorf("not one line: %q", r.err)
				}
			}
		})
	}
}

func TestThePasswordThatAFlagGivesIsPrintedByNoVerb(t *testing.T) {
	t.Parallel()
	var c cli
	parser, err := newParser(&c, streams{out: io.Discard, err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	verbs := 0
	for _, verb := range parser.Model.Leaves(false) {
		for _, f := range verb.Flags {
			if f.Name != "database-url" {
				continue
			}
			f.Target.SetString("postgres://u:hun@ter2hunter2@h/db")
			if text := withoutSecrets(parser, "lookup ter2hunter2@h: no such host"); strings.Contains(text, "hunter2") {
				t.Errorf("%s: %s", verb.Path(), text)
			}
			f.Target.SetString("")
			verbs++
		}
	}
	if verbs < 40 {
		t.Errorf("only %d verbs name a database", verbs)
	}
}

func TestEveryVerbReachesAServerOverTCPAndAddressesInKeywordForm(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(migrated(t))
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(overTCP(t, u))
	name := strings.TrimPrefix(u.Path, "/")
	db := "host=" + host + " port=" + port + " user=" + u.User.Username() + " password=hunter2 sslmode=disable dbname=" + name
	runWith(t, onDB(db), "", "migrate").wants(t, exitOK)
	runWith(t, onDB(db), "", "enqueue", "noop").wants(t, exitOK)
	runWith(t, onDB(db), "", "verify").wants(t, exitOK)
	b := runWith(t, onDB(db), "", "bench", "--jobs", "100", "--json").wants(t, exitOK)
	if strings.Contains(b.out+b.err, "hunter2") {
		t.Errorf("the password is printed: %s%s", b.out, b.err)
	}
}

// overTCP makes the tests' server, which has a Unix socket only, listen on an
// address.
func overTCP(t *testing.T, u *url.URL) string {
	t.Helper()
	dir, port := u.Query().Get("host"), u.Query().Get("port")
	network, address := "unix", dir+"/.s.PGSQL."+port
	if !strings.HasPrefix(dir, "/") {
		return u.Host
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial(network, address)
			if err != nil {
				in.Close()
				return
			}
			go func() { defer out.Close(); io.Copy(out, in) }()
			go func() { defer in.Close(); io.Copy(in, out) }()
		}
	}()
	return l.Addr().String()
}
