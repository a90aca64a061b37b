package doctor_test

import (
	"io"
	"net"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/fenceline/fenceline/store/doctor"
	"github.com/fenceline/fenceline/store/embedded"
)

func TestAServerThatIsSetUpBadlyFails(t *testing.T) {
	dir, err := os.MkdirTemp("", "fenceline-doctor-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// The server of root's tests runs as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, Settings: map[string]string{
		"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "autovacuum": "off",
		"synchronous_standby_names": "ghost", "idle_session_timeout": "3600000", "max_connections": "14",
		"shared_buffers": "16MB",
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	r := doctor.Examine(t.Context(), doctor.Config{URL: server.URL(embedded.Superuser, embedded.Superuser)})
	for check, want := range map[string]doctor.Status{
		"fsync": doctor.Fail, "full_page_writes": doctor.Fail, "synchronous_commit": doctor.Warn, "autovacuum": doctor.Fail,
		"replication": doctor.Fail, "timeouts": doctor.Warn, "connections": doctor.Warn,
		"schema_version": doctor.Fail, "read_only": doctor.OK, "pooler": doctor.OK,
	} {
		is(t, find(t, r, check), want)
	}
	if r.OK {
		t.Error("the report is ok")
	}
}

// pooler stands between a client and the server as a pooler does: it tells
// sessions a process id of its own, and may swallow notifications.
type pooler struct {
	to      string
	deaf    bool
	front   net.Listener
	running sync.WaitGroup
}

func startPooler(t *testing.T, db string, deaf bool) string {
	t.Helper()
	u, err := url.Parse(db)
	if err != nil {
		t.Fatal(err)
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pooler{to: u.Query().Get("host") + "/.s.PGSQL." + u.Query().Get("port"), deaf: deaf, front: front}
	p.running.Go(p.serve)
	t.Cleanup(func() { front.Close(); p.running.Wait() })
	through := url.URL{Scheme: "postgres", User: u.User, Host: front.Addr().String(), Path: u.Path, RawQuery: "sslmode=disable"}
	return through.String()
}

func (p *pooler) serve() {
	for {
		client, err := p.front.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.pass(client) })
	}
}

func (p *pooler) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	p.running.Go(func() { io.Copy(server, client); server.Close() })
	answers := pgproto3.NewFrontend(server, nil)
	for {
		message, err := answers.Receive()
		if err != nil {
			return
		}
		switch m := message.(type) {
		case *pgproto3.BackendKeyData:
			m.ProcessID += 1_000_000
		case *pgproto3.NotificationResponse:
			if p.deaf {
				continue
			}
		}
		raw, err := message.Encode(nil)
		if err != nil {
			return
		}
		if _, err := client.Write(raw); err != nil {
			return
		}
	}
}

func TestAPoolerInBetweenIsSeen(t *testing.T) {
	p := healthy(t)
	for deaf, want := range map[bool]doctor.Status{false: doctor.Warn, true: doctor.Fail} {
		through := startPooler(t, p.url, deaf)
		r := doctor.Examine(t.Context(), doctor.Config{URL: through, OwnerURL: p.url})
		is(t, find(t, r, "pooler"), want)
	}
}
