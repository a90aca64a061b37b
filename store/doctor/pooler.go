package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// hears is how long a notification may take to arrive.
const hears = 3 * time.Second

// pooler looks for something between this program and the server. A server
// tells its process id when a session begins; a pooler tells one of its own
// making. Whether notifications arrive decides how bad that is.
func (e *exam) pooler(ctx context.Context) ([]Finding, error) {
	const name = "pooler"
	conn, err := connect(ctx, e.cfg.URL)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var backend uint32
	if err := conn.QueryRow(ctx, `select pg_backend_pid()`).Scan(&backend); err != nil {
		return nil, err
	}
	direct := backend == conn.PgConn().PID()
	heard, err := e.listens(ctx, conn)
	switch {
	case err != nil:
		return nil, err
	case !heard:
		return []Finding{fail(name, "Give Fenceline a direct connection, or a pooler in session mode: pages would not be live, and workers would find jobs only by polling.",
			"Notifications do not arrive over this address%s.", between(direct))}, nil
	case !direct:
		return []Finding{warn(name, "A direct connection is simpler: Fenceline pools by itself, and a pooler may drop the settings of its sessions.",
			"A pooler stands between, in a mode that passes notifications on.")}, nil
	}
	return []Finding{ok(name, "The connection is direct, and notifications arrive.")}, nil
}

func between(direct bool) string {
	if direct {
		return ""
	}
	return ": a pooler stands between, in transaction or statement mode"
}

// listens sends a notification to a session that listens.
func (e *exam) listens(ctx context.Context, conn *pgx.Conn) (bool, error) {
	channel := "fenceline_doctor_" + strings.ToLower(rand.Text()[:12])
	if _, err := conn.Exec(ctx, "listen "+channel); err != nil {
		return false, err
	}
	if _, err := e.conn.Exec(ctx, "select pg_notify($1, '')", channel); err != nil {
		return false, err
	}
	waiting, cancel := context.WithTimeout(ctx, hears)
	defer cancel()
	_, err := conn.WaitForNotification(waiting)
	if err != nil && errors.Is(waiting.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}
