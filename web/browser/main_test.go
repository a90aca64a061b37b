// Package browser tests the console as people use it: in a real browser,
// against the real server over TCP, on a real database, with real workers.
package browser

import (
	"os"
	"testing"

	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/views/chrometest"
)

func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		work()
		return
	}
	code := storetest.Run(m)
	chrometest.Stop()
	os.Exit(code)
}
