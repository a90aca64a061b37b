package views

import (
	"testing"

	"github.com/fenceline/fenceline/views/chrometest"
)

func TestNoSamplePageHasABarrier(t *testing.T) {
	script := chrometest.Axe(t)
	t.Parallel()
	s := newStage(t)
	for name, page := range samplePages() {
		s.set("/ops/"+name, page)
		for _, scheme := range []string{"light", "dark"} {
			s.Scheme(scheme)
			s.Load(s.url + "/ops/" + name)
			if found := s.Barriers(script); found != "" {
				t.Errorf("%s, %s: %s", name, scheme, found)
			}
		}
	}
}
