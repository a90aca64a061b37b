package chrometest

import (
	"flag"
	"os"
	"testing"
)

var axe = flag.String("axe", "", "the script of axe-core, which looks for barriers; the module's node_modules has it when empty")

// Axe is the script that looks for barriers. A test is skipped where it is not
// installed.
func Axe(t testing.TB) string {
	t.Helper()
	paths := []string{*axe}
	if *axe == "" {
		const below = "../node_modules/axe-core/axe.min.js"
		paths = []string{below, "../" + below} // seen from the tested package
	}
	for _, path := range paths {
		if script, err := os.ReadFile(path); err == nil {
			return string(script)
		}
	}
	t.Skip("axe-core is not there; install it with: npm install --no-save axe-core")
	return ""
}

const barriers = `axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})
	.then(r => r.violations.map(v => v.id + ' at ' + v.nodes.map(n => n.target.join(' ')).slice(0, 3).join(', ')).join('; '))`

// Barriers lists what axe finds on the page with every part of it open, and is
// empty where that is nothing.
func (b *Tab) Barriers(script string) string {
	b.t.Helper()
	Eval[any](b, `[...document.querySelectorAll('main details:not([data-act])')].forEach(d => { d.open = true }), 1`)
	Eval[any](b, script+";1")
	return Eval[string](b, barriers)
}
