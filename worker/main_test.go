package worker_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/worker"
)

// databaseURL is the migrated database of the examples.
var databaseURL string

func TestMain(m *testing.M) {
	if role := os.Getenv(worker.ChildRole); role != "" {
		os.Exit(worker.RunChild(role))
	}
	outside := &outside{}
	databaseURL = storetest.OwnerURL(outside)
	storetest.Main(m, outside.cleanUp, storetest.NoLeaks)
}

// outside stands in for a test around those that have none: examples.
type outside struct {
	testing.TB
	cleanups []func()
}

func (o *outside) Helper()           {}
func (o *outside) Cleanup(fn func()) { o.cleanups = append(o.cleanups, fn) }
func (o *outside) Error(args ...any) { fmt.Fprintln(os.Stderr, args...) }
func (o *outside) Fatal(args ...any) { o.Error(args...); os.Exit(1) }

func (o *outside) cleanUp() error {
	for _, fn := range o.cleanups {
		fn()
	}
	return nil
}
