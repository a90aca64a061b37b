package chrometest

import (
	"context"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// listen fails the test on whatever the tab complains of. The returned func
// waits for the end of the listening, which comes with the tab's.
func (b *Tab) listen() (wait func()) {
	messages := chromedp.Console(b.ctx)
	dialogs := chromedp.Events(b.ctx, page.JavascriptDialogOpening)
	ended := make(chan struct{}, 2)
	go func() {
		defer func() { ended <- struct{}{} }()
		for m, err := range messages {
			if err != nil {
				return
			}
			if complaint(m) {
				b.t.Errorf("the browser complains: %s", m.Text)
			}
		}
	}()
	go func() {
		defer func() { ended <- struct{}{} }()
		for d, err := range dialogs {
			if err != nil {
				return
			}
			b.t.Errorf("the page opened a dialog: %s", d.Message)
			chromedp.Do(b.ctx, chromedp.Func(dismiss))
		}
	}()
	return func() { <-ended; <-ended }
}

// complaint tells errors of the page from those of the line to the server,
// which tests cut on purpose.
func complaint(m chromedp.ConsoleMessage) bool {
	if m.Type != chromedp.ConsoleError && m.Type != chromedp.ConsoleException {
		return false
	}
	return !strings.Contains(m.Text, "Failed to load resource") && !strings.Contains(m.Text, "net::ERR_")
}

func dismiss(ctx context.Context, t *chromedp.Target) error {
	_, err := cdp.Call(ctx, t, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: false})
	return err
}
