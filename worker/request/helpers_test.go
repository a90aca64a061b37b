package request_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/request"
)

func TestMain(m *testing.M) { storetest.Main(m, storetest.NoLeaks) }

const patience = 60 * time.Second

// loopback is what the tests' own servers need.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// received is a request as a server saw it.
type received struct {
	*http.Request
	body string
}

// bench is a pool that delivers to targets, and what its jobs left behind.
type bench struct {
	t   *testing.T
	st  *store.Store
	url string
	log *logged
}

// logged is everything that the pool logged.
type logged struct {
	mu   sync.Mutex
	text []byte
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

func start(t *testing.T, targets map[string]request.Target, options request.Options) *bench {
	t.Helper()
	b := &bench{t: t, log: &logged{}}
	b.st, b.url = storetest.NewWithURL(t)
	options.Lease = 6 * time.Second
	p := worker.New(b.st, worker.Config{
		Log: slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), b.log), nil)), Sweep: 20 * time.Millisecond, Poll: 100 * time.Millisecond,
		Retry: store.Backoff{Base: 5 * time.Millisecond, Cap: 10 * time.Millisecond}, Grace: 50 * time.Millisecond,
		Queues: map[string]int{store.DefaultQueue: 10},
	})
	if err := request.Register(p, targets, options); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return b
}

// serve is a server that tells what it received, and answers with fn.
func serve(t *testing.T, fn http.HandlerFunc) (*httptest.Server, <-chan received) {
	t.Helper()
	got := make(chan received, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- received{r, string(body)}
		fn(w, r)
	}))
	t.Cleanup(s.Close)
	return s, got
}

func (b *bench) enqueue(args string, attempts int) int64 {
	b.t.Helper()
	got, err := b.st.Enqueue(b.t.Context(), store.Request{Kind: request.Kind, Args: json.RawMessage(args), MaxAttempts: attempts})
	if err != nil {
		b.t.Fatal(err)
	}
	return got.ID
}

func (b *bench) view(id int64, state store.State) store.JobView {
	b.t.Helper()
	return storetest.AwaitState(b.t, b.st, id, state)
}

func (b *bench) result(id int64) string {
	b.t.Helper()
	b.view(id, store.Completed)
	p, err := b.st.Payload(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(p.Result)
}

// failure is the last error of a job that was given up.
func (b *bench) failure(id int64) (store.AttemptFailure, store.JobView) {
	b.t.Helper()
	v := b.view(id, store.Discarded)
	if len(v.Errors) == 0 {
		b.t.Fatal("no error was stored")
	}
	return v.Errors[len(v.Errors)-1], v
}

// names is a resolver that asks a server of the test: every name has the address
// that it is told, and none has one of IPv6. Without an address there is no such
// name.
func names(t *testing.T, address func() string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		query := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			conn.WriteTo(reply(query[:n], address()), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// reply answers one question of DNS.
func reply(query []byte, address string) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5
	answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
	switch {
	case address == "":
		answer[3] = 0x83
	case binary.BigEndian.Uint16(query[end-4:]) == 1:
		answer[7] = 1
		answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		answer = append(answer, netip.MustParseAddr(address).AsSlice()...)
	}
	return answer
}
