package chrometest

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Tab is one tab of a browser. Its methods fail the test at once when
// something cannot be done.
type Tab struct {
	t   testing.TB
	ctx context.Context
}

// Open opens a tab with a profile of its own, as another person's browser
// would be. It is closed when the test ends.
func Open(t testing.TB) *Tab {
	t.Helper()
	return open(t, start(t), chromedp.WithNewBrowserContext())
}

// Another opens one more tab beside this one, in the same profile.
func (b *Tab) Another() *Tab {
	b.t.Helper()
	return open(b.t, b.ctx)
}

func open(t testing.TB, beside context.Context, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(beside, options...)
	b := &Tab{t, ctx}
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		t.Fatalf("open a tab: %v", err)
	}
	heard := b.listen()
	t.Cleanup(func() {
		cancel()
		heard()
	})
	return b
}

// Do takes steps of chromedp.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// Load loads a page and returns when it is there.
func (b *Tab) Load(url string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(url))
}

// Eval is what an expression of the page's script comes to; a promise is
// waited for.
func Eval[T any](b *Tab, js string) T {
	b.t.Helper()
	v, err := eval[T](b, js)
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return v
}

func eval[T any](b *Tab, js string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
}

// Holds reports whether a condition of the page holds now. While a page is
// being replaced by another one, nothing does.
func (b *Tab) Holds(js string) bool {
	v, err := eval[bool](b, "Boolean("+js+")")
	return err == nil && v
}

// Until waits for a condition of the page.
func (b *Tab) Until(js string) {
	b.t.Helper()
	Wait(b.t, js, func() bool { return b.Holds(js) })
}

// Live waits until the page says that it is live.
func (b *Tab) Live() {
	b.t.Helper()
	b.Until(`document.getElementById('live')?.dataset.state === 'live'`)
}

// Text is the text of the first element that matches, without the space around
// it.
func (b *Tab) Text(css string) string {
	b.t.Helper()
	return Eval[string](b, "(document.querySelector("+quote(css)+")?.textContent ?? 'nothing matches').trim()")
}

// Wait waits for a fact of any sort.
func Wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); ; {
		if holds() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never came true: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
