package chrometest

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Click waits for an element that can be seen and stays where it is, as one
// that a person can hit, and clicks it.
func (b *Tab) Click(css string) {
	b.t.Helper()
	place := "(e => e ? (e.scrollIntoViewIfNeeded(), JSON.stringify(e.getBoundingClientRect())) : '')(document.querySelector(" + quote(css) + "))"
	was := ""
	Wait(b.t, css+" stays in its place", func() bool {
		now, err := eval[string](b, place)
		if err != nil { // the page is being replaced by another one
			now = ""
		}
		stays := now != "" && now == was
		was = now
		return stays
	})
	b.Do(chromedp.Click(chromedp.CSS(css)))
}

// Type types into a field that can be seen.
func (b *Tab) Type(css, text string) {
	b.t.Helper()
	b.Do(chromedp.SendKeys(chromedp.CSS(css), text))
}

// Press presses keys as a keyboard does: a key that the page takes for itself
// leaves no character behind.
func (b *Tab) Press(keys string) {
	b.t.Helper()
	b.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, r := range keys {
			for _, k := range kb.Encode(r) {
				if k.Type == kb.KeyChar {
					continue
				}
				if k.Type == kb.KeyDown && r >= ' ' && r < 127 {
					k.Text = string(r)
				}
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *k); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// quote writes a text as a literal of the page's script.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
