// Package storetest gives every test a real PostgreSQL database of its own.
// It is for tests only.
//
// A test process starts one private server, when the first test asks for a
// database, or uses the one that FENCELINE_TEST_DATABASE_URL names (its user
// must be allowed to make databases and roles). A package that uses storetest
// ends its tests through [Main], which stops that server and removes its files:
//
//	func TestMain(m *testing.M) { storetest.Main(m, storetest.NoLeaks) }
//
// Databases are independent down to their LISTEN channels, so tests run in
// parallel. Since this package imports store, tests of store itself that use it
// belong in package store_test.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fenceline/fenceline/store/embedded"
)

// patience bounds everything that is done to the server on a test's behalf.
const patience = 60 * time.Second

const tempPrefix = "fenceline-test-"

// server is the one that this process's tests share.
type server struct {
	dir     string           // of the embedded one, removed at the end
	running *embedded.Server // nil when the server is somebody else's
	stopped atomic.Bool      // with all its databases
	address func(database string) string

	template     sync.Mutex
	templateName string
}

var (
	starting sync.Mutex
	shared   *server
)

// Main runs the package's tests, stops their server, runs the checks in order
// if all tests passed, and exits the process.
func Main(m *testing.M, checks ...func() error) { os.Exit(Run(m, checks...)) }

// Run is [Main] without the exit, for packages whose tests have more to stop.
// It returns the exit code.
func Run(m *testing.M, checks ...func() error) int {
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	for _, check := range checks {
		if code != 0 {
			break
		}
		if err := check(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// NoLeaks is a check for [Main]: no goroutine outlives the tests.
func NoLeaks() error { return goleak.Find() }

// start returns the shared server, starting it for the first caller.
func start() (*server, error) {
	starting.Lock()
	defer starting.Unlock()
	if shared != nil {
		return shared, nil
	}
	var err error
	if named := os.Getenv("FENCELINE_TEST_DATABASE_URL"); named != "" {
		shared, err = borrow(named)
	} else {
		shared, err = launch()
	}
	return shared, err
}

func borrow(named string) (*server, error) {
	u, err := url.Parse(named)
	if err != nil || u.Scheme == "" {
		return nil, errors.New("FENCELINE_TEST_DATABASE_URL is not a postgres:// address")
	}
	return &server{address: func(database string) string {
		of := *u
		of.Path = "/" + database
		return of.String()
	}}, nil
}

func launch() (*server, error) {
	where := places()
	for _, place := range where {
		sweep(place)
	}
	dir, err := os.MkdirTemp(where[0], tempPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a directory for the test server: %w", err)
	}
	// The server of root's tests runs as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open the test server's directory: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	running, err := embedded.Start(ctx, embedded.Config{DataDir: dir, Settings: map[string]string{
		"fsync":                     "off",
		"full_page_writes":          "off",
		"autovacuum_naptime":        "10min", // a look every 10 s into each of so many databases is a lot
		"max_connections":           "300",
		"max_prepared_transactions": "20",
		"max_wal_size":              "512MB",
		"shared_buffers":            "128MB",
	}})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the test server: %w", err), os.RemoveAll(dir))
	}
	return &server{dir: dir, running: running, address: func(database string) string {
		return running.URL(database, embedded.Superuser)
	}}, nil
}

func stop() error {
	starting.Lock()
	defer starting.Unlock()
	if shared == nil {
		return nil
	}
	s := shared
	shared = nil
	if s.running == nil {
		return s.dropTemplate()
	}
	s.stopped.Store(true)
	died := s.running.Err()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(died, s.running.Stop(ctx), os.RemoveAll(s.dir))
}
