package chrometest

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Zone puts the reader into a time zone, with a wall clock that is off by so
// much, from the next page on.
func (b *Tab) Zone(name string, off time.Duration) {
	b.t.Helper()
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
	script := fmt.Sprintf(`{const real = Date.now; Date.now = () => real() + (%d); const D = Date; Date = new Proxy(D, {construct: (t, a) => a.length ? new D(...a) : new D(Date.now())});}`, off.Milliseconds())
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

// Scheme chooses between "light" and "dark".
func (b *Tab) Scheme(name string) {
	b.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
}

// Size gives the tab a width and a height, in px.
func (b *Tab) Size(width, height int64) {
	b.t.Helper()
	b.Do(chromedp.EmulateViewport(width, height))
}

// NoScript keeps pages from running any script, from the next page on. What
// the test itself evaluates still runs.
func (b *Tab) NoScript() {
	b.t.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

func call[P, R any](b *Tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	b.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	}))
}
