package store_test

import (
	"errors"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/fenceline/fenceline/store"
)

func TestReleasesThatLoseChangesAreKnown(t *testing.T) {
	t.Parallel()
	for version, bad := range map[string]bool{
		"14.23": false, "15.18 (Debian 15.18-0+deb12u1)": false, "17.6": false, "18.2": false, "18.10": false, "19.0": false, "18.11 (x)": false,
		"18.0": true, "18.1": true, "18.1 (Debian 18.1-1.pgdg12+2)": true, "18beta3": true, "18rc1": true,
	} {
		if err := store.CheckServer(version); errors.Is(err, store.ErrServer) != bad {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestNoConnectionIsMadeToAServerThatLosesChanges(t *testing.T) {
	t.Parallel()
	url := greeter(t, "18.1 (Debian 18.1-1)")
	if _, err := store.Open(t.Context(), store.Config{URL: url}); !errors.Is(err, store.ErrServer) {
		t.Errorf("open: %v", err)
	}
	if err := store.Migrate(t.Context(), url); !errors.Is(err, store.ErrServer) {
		t.Errorf("migrate: %v", err)
	}
}

// greeter is the address of a server that lets everybody in, calls itself that
// version, and answers nothing.
func greeter(t *testing.T, version string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go greet(conn, version)
		}
	}()
	return "postgres://x@" + listener.Addr().String() + "/x?sslmode=disable"
}

func greet(conn net.Conn, version string) {
	defer conn.Close()
	backend := pgproto3.NewBackend(conn, conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return
	}
	backend.Send(&pgproto3.AuthenticationOk{})
	backend.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: version})
	backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if backend.Flush() == nil {
		backend.Receive() // until the other side hangs up
	}
}
