package views

import (
	"strings"
	"testing"

	"github.com/fenceline/fenceline/store"
)

func TestAParentsPageSaysWhichFollowUpsMayHaveBeenDeliveredTwice(t *testing.T) {
	v := newPlay().claim("w").complete().view()
	v.Children = []store.Job{
		{ID: 71, FollowName: "receipt", Kind: "mail", State: store.Completed},
		{ID: 72, FollowName: "invoice", Kind: "mail", State: store.Completed},
	}
	v.Twice = []int64{72}
	page := render(t, jobRelated(JobPage{Frame: frame(), View: v}))
	once, twice, _ := strings.Cut(page, `id="child-72"`)
	if strings.Contains(once, MaybeTwice) || !strings.Contains(twice, MaybeTwice) {
		t.Errorf("the page says it of the wrong one:\n%s", page)
	}
}
