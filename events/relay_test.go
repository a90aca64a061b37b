package events_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/relay"
)

// relayed is a store whose listener reaches the server through a relay.
type relayed struct {
	*store.Store
	way         *relay.Relay
	connections *atomic.Int64 // made so far
}

func throughRelay(t *testing.T, st *store.Store) relayed {
	t.Helper()
	dial, err := relay.To(st.ListenConfig().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	made := new(atomic.Int64)
	way, err := relay.New(func(ctx context.Context) (net.Conn, error) {
		made.Add(1)
		return dial(ctx)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(way.Close)
	return relayed{st, way, made}
}

func (s relayed) ListenConfig() *pgx.ConnConfig { return s.way.Config(s.Store.ListenConfig()) }

// silence makes the listener's connection half-open; a new one works.
func (s relayed) silence() {
	s.way.Silence(true)
	s.way.Silence(false)
}
