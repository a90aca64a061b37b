package store

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// answerPatience is how much longer than the server a statement is waited
	// for here.
	answerPatience = 5 * time.Second
	// connectPatience bounds the making of a connection unless the address says
	// otherwise.
	connectPatience = 10 * time.Second
)

// patience bounds every statement of a pool on this side. The server bounds it
// too, but one that is stopped, or behind a network that swallows what is sent,
// answers nothing: a page would wait without end, and so would whatever is
// brought up to date behind it, long after the database is back. A transaction
// that sets a bound of its own on the server has none here, and a batch none
// but its caller's.
type patience time.Duration

const ownBound = "set local statement_timeout"

type endKey struct{}

// TraceQueryStart returns the context that the statement ends with.
func (p patience) TraceQueryStart(ctx context.Context, conn *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	kept := conn.PgConn().CustomData()
	switch {
	case strings.Contains(q.SQL, ownBound):
		kept[ownBound] = true
	case q.SQL == "commit" || q.SQL == "rollback":
		delete(kept, ownBound)
	case kept[ownBound] != nil:
		return ctx
	}
	ctx, end := context.WithTimeout(ctx, time.Duration(p))
	return context.WithValue(ctx, endKey{}, end)
}

// TraceQueryEnd is called when the answer has been read.
func (patience) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if end, ok := ctx.Value(endKey{}).(context.CancelFunc); ok {
		end()
	}
}
