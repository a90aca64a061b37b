package views

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var axe = flag.String("axe", "../node_modules/axe-core/axe.min.js", "the script of axe-core, which looks for barriers")

const barriers = `axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})
	.then(r => r.violations.map(v => v.id + ' at ' + v.nodes.map(n => n.target.join(' ')).slice(0, 3).join(', ')).join('; '))`

func TestNoSamplePageHasABarrier(t *testing.T) {
	script, err := os.ReadFile(*axe)
	if err != nil {
		t.Skipf("axe-core is not there (npm install --no-save axe-core): %v", err)
	}
	t.Parallel()
	s := newStage(t)
	for name, page := range samplePages() {
		s.set("/ops/"+name, page)
		for _, scheme := range []string{"light", "dark"} {
			s.scheme(scheme)
			s.open(s.ctx, "/ops/"+name)
			eval[any](s, s.ctx, `[...document.querySelectorAll('main details:not([data-act])')].forEach(d => { d.open = true }), 1`)
			eval[any](s, s.ctx, string(script)+";1")
			if found := eval[string](s, s.ctx, barriers); found != "" {
				t.Errorf("%s, %s: %s", name, scheme, found)
			}
		}
	}
}

func (s *stage) scheme(name string) {
	s.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}
	s.do(s.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	}))
}
