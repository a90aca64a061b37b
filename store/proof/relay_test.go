package proof

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// relay stands between a store and its database and rewrites the statements
// that pass: the store under a mutant is the very program that is shipped.
type relay struct {
	listener net.Listener
	server   string // the socket of the real one
	rewrite  func(sql string) string
	wg       sync.WaitGroup
}

// newRelay returns a relay and the address by which a store reaches the
// database behind it.
func newRelay(t *testing.T, address string, rewrite func(string) string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "relay")
	if err != nil {
		t.Fatal(err)
	}
	socket := fmt.Sprintf(".s.PGSQL.%d", cfg.Port)
	l, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, server: filepath.Join(cfg.Host, socket), rewrite: rewrite}
	r.wg.Go(r.accept)
	t.Cleanup(func() {
		l.Close()
		r.wg.Wait()
		os.RemoveAll(dir)
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	return u.String()
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.serve(client) })
	}
}

// serve carries one connection until either side ends it.
func (r *relay) serve(client net.Conn) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(context.Background(), "unix", r.server)
	if err != nil {
		return
	}
	defer server.Close()
	r.wg.Go(func() {
		io.Copy(client, server)
		client.Close()
	})
	r.forward(server, client)
}

// forward copies the client's messages. The first has no type.
func (r *relay) forward(server io.Writer, client io.Reader) error {
	head := make([]byte, 5)
	if _, err := io.ReadFull(client, head[:4]); err != nil {
		return err
	}
	body, err := message(client, head[:4])
	for err == nil {
		if _, err = server.Write(body); err != nil {
			return err
		}
		if _, err = io.ReadFull(client, head); err != nil {
			return err
		}
		if body, err = message(client, head); err == nil && head[0] == 'P' {
			body = r.parse(body)
		}
	}
	return err
}

// message reads the rest of a message whose last four header bytes are its
// length, and returns all of it.
func message(from io.Reader, head []byte) ([]byte, error) {
	size := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
	if size < 0 || size > 64<<20 {
		return nil, errors.New("not a message")
	}
	all := make([]byte, len(head)+size)
	copy(all, head)
	_, err := io.ReadFull(from, all[len(head):])
	return all, err
}

// parse rewrites the statement of a Parse message: name, statement, parameters.
func (r *relay) parse(all []byte) []byte {
	name, rest, _ := strings.Cut(string(all[5:]), "\x00")
	sql, parameters, _ := strings.Cut(rest, "\x00")
	body := name + "\x00" + r.rewrite(sql) + "\x00" + parameters
	out := make([]byte, 5, 5+len(body))
	out[0] = 'P'
	binary.BigEndian.PutUint32(out[1:], uint32(len(body)+4))
	return append(out, body...)
}
