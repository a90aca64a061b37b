package faults

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fenceline/fenceline/cmd/internal/process"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/embedded"
)

func randomName() string { return strings.ToLower(rand.Text()[:8]) }

// Pooler puts PgBouncer in transaction mode between everybody and the
// database. Nothing that is set at the start of a session holds there, and
// LISTEN hears nothing: the feed and the workers poll.
func Pooler(goal Goal) Scene {
	return Scene{
		Name: "PgBouncer", Goal: goal, Gap: 2 * time.Second, Small: ofProcesses, Faults: append([]fault{ofServer[0]}, ofServer[2:4]...),
		mode:    "cache_describe",
		setting: map[string]string{"idle_in_transaction_session_timeout": "1s", "lock_timeout": "2s", "statement_timeout": "5s"},
		lacking: func(context.Context) string {
			if bouncer() == "" {
				return "pgbouncer is not installed"
			}
			return ""
		},
		around: startBouncer,
	}
}

func bouncer() string {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

const bouncerSettings = `[databases]
* = host=%s port=5432
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 30
max_client_conn = 500
server_login_retry = 1
ignore_startup_parameters = extra_float_digits,role,default_transaction_isolation,synchronous_commit,statement_timeout,lock_timeout,idle_in_transaction_session_timeout,tcp_keepalives_idle,tcp_keepalives_interval,tcp_keepalives_count,enable_seqscan,enable_bitmapscan,jit
`

func startBouncer(ctx context.Context, r *Rig) error {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	dir := filepath.Join(r.dir, "bouncer")
	users, settings := filepath.Join(dir, "users"), filepath.Join(dir, "settings")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	text := fmt.Sprintf(bouncerSettings, filepath.Join(r.config.DataDir, "run"), port, users)
	args := []string{"-q", settings}
	if os.Geteuid() == 0 {
		// It runs as whom the server runs as, who alone may enter its socket.
		args = append([]string{"-u", "postgres"}, args...)
	}
	for path, text := range map[string]string{settings: text, users: fmt.Sprintf("%q \"\"\n%q \"\"\n", embedded.Superuser, store.RuntimeRole)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	log, err := os.Create(filepath.Join(r.dir, "bouncer.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(bouncer(), args...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := process.Start(cmd)
	if err != nil {
		return fmt.Errorf("start pgbouncer: %w", err)
	}
	r.onClose(func() { p.Kill(); <-p.Done })
	at := fmt.Sprintf("127.0.0.1:%d", port)
	r.mu.Lock()
	r.toward = func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", at) }
	r.mu.Unlock()
	return await(ctx, "pgbouncer answers", func() (bool, error) {
		conn, err := r.toward(ctx)
		if err == nil {
			conn.Close()
		}
		return err == nil, err
	})
}
