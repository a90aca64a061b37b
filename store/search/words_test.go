package search_test

import (
	"testing"

	"github.com/fenceline/fenceline/store/search"
)

func TestASearchIsSaidInWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"": "every job",
		`kind:report state:discarded error:"timeout" older:1h`: "kind is report, state is discarded, an attempt’s error contains timeout, enqueued more than 1h ago",
		"-queue:a,b id:>5 attempts:2..4":                       "queue is not a or b, id is above 5, attempts used is from 2 to 4",
		"args.customer_id:1970670598291982290 -error:x":        "args.customer_id is what the search says, an attempt’s error does not contain x",
		"lease:live,lapsed":                                    "it runs under a live lease or it runs under a lease that has passed",
		"-lease:lost,expired":                                  "its last lease was not lost and no lease of it expired",
		"refused:no lease:expired -newer:2d tag:urgent*":       "no late write was refused, a lease of it expired, not enqueued less than 2d ago, a tag is urgent*",
		"incident:12,13 -incident:>20":                         "touched by incident 12 or 13, not touched by incident above 20",
		"-refused:yes finished:>-2h":                           "no late write was refused, the time of its end is above -2h",
	} {
		q, err := search.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Words(); got != want {
			t.Errorf("%s is %q, want %q", line, got, want)
		}
	}
}
