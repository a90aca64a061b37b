// Package chrometest lets tests look at pages as people do: in a real browser,
// without a window. It is for tests only.
//
// A test process starts one browser, when the first test asks for a tab, and
// ends it with [Stop]. Each test has a profile of its own, so that tests run in
// parallel. A test without a browser on the machine is skipped.
//
// Whatever a page complains of fails its test: an error or an exception on the
// console, which is where a breach of the content security policy is told too,
// and a dialog of the browser's own, which no page here opens and injected
// script likes to.
package chrometest

import (
	"context"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Patience bounds every wait for a fact. It is long because two cores may be
// shared by everything else that is being tested.
const Patience = 60 * time.Second

// names are those under which the browser is looked for.
var names = []string{
	"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
}

var browser struct {
	sync.Mutex
	ctx  context.Context
	stop func()
}

// start returns the context of the browser, starting it for the first caller.
func start(t testing.TB) context.Context {
	t.Helper()
	browser.Lock()
	defer browser.Unlock()
	if browser.ctx != nil {
		return browser.ctx
	}
	path := find()
	if path == "" {
		t.Skip("no browser to test with; install it with: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		stop()
		t.Fatalf("start %s: %v", path, err)
	}
	browser.ctx, browser.stop = ctx, func() { cancel(); stop() }
	return ctx
}

func find() string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Stop ends the browser, if one was started. Call it when all tests have run.
func Stop() {
	browser.Lock()
	defer browser.Unlock()
	if browser.stop != nil {
		browser.stop()
		browser.ctx, browser.stop = nil, nil
	}
}
