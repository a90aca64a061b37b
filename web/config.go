package web

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/notice"
)

// Actor is who every action is recorded as where nobody signs in: the console
// listens on loopback only then.
const Actor = "local"

// Drill starts the story of the two workers.
type Drill interface {
	// Start enqueues the drill's job and sets its workers going, and returns
	// the job's id without waiting for the end. While a drill runs it starts
	// no other and returns that one's job with running true. ctx is the
	// request's; the drill outlives it. actor is who started it.
	Start(ctx context.Context, actor string) (job int64, running bool, err error)
}

// Config is what a [Server] is made of. Zero durations and numbers mean their
// defaults.
type Config struct {
	Store *store.Store // required
	Hub   *events.Hub  // required; somebody else runs it
	Log   *slog.Logger // nothing is logged when nil
	Drill Drill        // nil: there is no drill here

	// SignIn says how people prove who they are; nil: nobody has to, and whoever
	// reaches the console acts as [Actor] and may do everything.
	SignIn *SignIn

	// Metrics, when set, is shown at /metrics; the server adds its own figures,
	// the feed's and the jobs'.
	Metrics *prometheus.Registry

	// TraceURL is where a job's trace is shown, with {trace} in place of its id;
	// empty: the id is shown without a link.
	TraceURL string

	// Notices says who is told of incidents, and Console where people reach this
	// console, for links in tests of it.
	Notices []notice.Rule
	Console string

	Prefix  string   // where a proxy mounts the console, as "/ops/leases"; empty for the root
	Hosts   []string // names, without ports, under which the console is reached besides localhost, 127.0.0.1 and ::1
	Version string   // shown by /readyz and the API's document

	Patience     time.Duration // how long a request waits for the database before it is told so; 25 s
	Heartbeat    time.Duration // between two beats of a stream; 15 s
	WriteTimeout time.Duration // how long one write to a stream may take; 10 s
	Grace        time.Duration // how long requests may take once shutdown began; 10 s
	MaxStreams   int           // streams open at once; 1,000
	Rates        Rates         // how much one person may ask, where people sign in
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.SignIn != nil {
		in := *c.SignIn
		orDefault(&in.Idle, time.Hour)
		orDefault(&in.Lifetime, 12*time.Hour)
		c.SignIn = &in
	}
	orDefault(&c.Patience, 25*time.Second)
	orDefault(&c.Heartbeat, 15*time.Second)
	orDefault(&c.WriteTimeout, 10*time.Second)
	orDefault(&c.Grace, 10*time.Second)
	orDefault(&c.MaxStreams, 1000)
	c.Rates = c.Rates.withDefaults()
	return c
}

// gatherer is Metrics as an interface, which is nil when there is none.
func (c Config) gatherer() prometheus.Gatherer {
	if c.Metrics == nil {
		return nil
	}
	return c.Metrics
}

func orDefault[T ~int | ~int64](value *T, def T) {
	if *value <= 0 {
		*value = def
	}
}

// CheckPrefix returns a path prefix in its normal form, without a slash at the
// end, or says in a sentence why it cannot be one.
func CheckPrefix(prefix string) (string, error) {
	trimmed := strings.TrimRight(prefix, "/")
	if trimmed == "" {
		return "", nil
	}
	if trimmed[0] != '/' {
		return "", fmt.Errorf("the path prefix %q must begin with a slash, as in /ops/leases", prefix)
	}
	for _, part := range strings.Split(trimmed[1:], "/") {
		if part == "" || part == "." || part == ".." || strings.Trim(part, pathLetters) != "" {
			return "", fmt.Errorf("the path prefix %q may hold only letters, digits, '-', '_' and '.' between its slashes", prefix)
		}
	}
	return trimmed, nil
}

const pathLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
