package store_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

const (
	zoneVar     = "FENCELINE_TEST_ZONE"
	storyPrefix = "story: "
)

// inZone migrates a database of its own that lives in the zone.
func inZone(t *testing.T, zone string) *fixture {
	t.Helper()
	f := &fixture{t: t, ctx: t.Context(), url: storetest.URL(t)}
	f.owner = f.connect()
	f.exec("do $$ begin execute format('alter database %I set timezone = ''" + zone + "''', current_database()); end $$")
	f.owner = f.connect()
	if got := value[string](f, "show timezone"); got != zone {
		t.Fatalf("the owner's session lives in %s", got)
	}
	if err := store.Migrate(f.ctx, f.url); err != nil {
		t.Fatal(err)
	}
	f.Store = storetest.Open(t, store.Config{URL: f.url})
	return f
}

// datedStory is a life of jobs, and due times and days around a night on which
// Newfoundland puts its clocks forward, all told in UTC.
func (f *fixture) datedStory() []string {
	f.t.Helper()
	told := f.wholeLife()
	for _, minute := range []string{"2027-03-14T05:29:00Z", "2027-03-14T05:30:00Z", "2027-03-14T05:31:00Z"} {
		at, _ := time.Parse(time.RFC3339, minute)
		ids := []int64{f.enqueue(store.Request{RunAt: at}), f.enqueue(store.Request{RunAt: at.Local()})}
		ids = append(ids, value[int64](f, "select id from fenceline.enqueue('report', run_at => $1::text::timestamptz)", minute))
		for _, id := range ids {
			told = append(told, fmt.Sprint(f.job(id).State, " until ", f.job(id).RunAt.Format(time.RFC3339Nano)))
		}
	}
	f.exec("select fenceline.ensure_partitions(14)")
	f.exec("set timezone = 'UTC'")
	days := value[[]string](f, `select array_agg(c.relname || ' ' || pg_get_expr(c.relpartbound, c.oid) order by c.relname)
		from pg_class c join pg_inherits i on i.inhrelid = c.oid where i.inhparent = 'fenceline.transitions'::regclass`)
	return append(told, days...)
}

func TestAnotherZoneOfTheDatabaseAndTheProcessChangesNothing(t *testing.T) {
	t.Parallel()
	f := inZone(t, "UTC")
	want := f.datedStory()
	server, err := url.Parse(f.url)
	if err != nil {
		t.Fatal(err)
	}
	server.Path = "/postgres"
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheStoryInAnotherZone$", "-test.v")
	child.Env = append(os.Environ(), "TZ=Asia/Kolkata", zoneVar+"=America/St_Johns", "FENCELINE_TEST_DATABASE_URL="+server.String())
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		if _, text, found := strings.Cut(line, storyPrefix); found {
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("in other zones:\n%s\nin UTC:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTheStoryInAnotherZone is the other process of the test above.
func TestTheStoryInAnotherZone(t *testing.T) {
	zone := os.Getenv(zoneVar)
	if zone == "" {
		t.Skip("runs in a process of its own, with a zone of its own")
	}
	if _, offset := time.Now().Zone(); offset != 5*3600+1800 {
		t.Fatalf("this process is not in India's zone: %d", offset)
	}
	told, err := json.Marshal(inZone(t, zone).datedStory())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\n%s%s\n", storyPrefix, told)
}
