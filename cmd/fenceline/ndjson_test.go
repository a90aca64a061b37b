package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestEachLineSaysItsOwnFields(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	in := "\ufeff" + `{"kind":"a","args":{"n":12345678901234567890},"key":"k","queue":"q","priority":-5,"run_at":"2031-01-01T00:00:00Z","max_attempts":3,"tags":["x","y"]}` +
		"\n\n  \r\n" + `{"kind":"b","run_at":"+1h","key":null,"args":null,"tags":null,"priority":null,"max_attempts":null,"queue":null}`
	c := newLineReader(strings.NewReader(in), now).next(10, 1000)
	if c.err != io.EOF || len(c.requests) != 2 {
		t.Fatalf("%d requests, %v", len(c.requests), c.err)
	}
	a, b := c.requests[0], c.requests[1]
	same(t, "the first", fmt.Sprint(a.Kind, string(a.Args), a.Key, a.Queue, a.Priority, a.RunAt.Year(), a.MaxAttempts, a.Tags),
		fmt.Sprint("a", `{"n":12345678901234567890}`, "k", "q", -5, 2031, 3, []string{"x", "y"}))
	same(t, "the second", fmt.Sprint(b.Kind, string(b.Args), b.Key, b.MaxAttempts), fmt.Sprint("b", "null", "", 0))
	if late := b.RunAt.Sub(now); late < time.Hour || late > time.Hour+time.Minute {
		t.Errorf("a delay of an hour leads to %s", b.RunAt)
	}
	same(t, "the numbers of the lines", c.lines, []int{1, 4})
}

func TestABadLineIsNamedByItsNumberAndField(t *testing.T) {
	t.Parallel()
	for bad, want := range map[string]string{
		`nonsense`:                                     "line 2: is not a JSON object",
		`[]`:                                           "line 2: is not a JSON object",
		`{"kind":"a"`:                                  "line 2: is not JSON",
		`{"kind":"a"} x`:                               "line 2: is not JSON",
		`{}`:                                           "line 2: kind: is required",
		`{"kind":""}`:                                  "line 2: kind: is required",
		`{"kind":7}`:                                   "line 2: kind: must be a string",
		`{"kind":"a","colour":"red"}`:                  "line 2: colour: is not a field of a job",
		`{"kind":"a","KIND":"b"}`:                      "line 2: KIND: is not a field of a job",
		`{"kind":"a","priority":1.5}`:                  "line 2: priority: must be a whole number",
		`{"kind":"a","priority":40000}`:                "line 2: priority: must be a whole number",
		`{"kind":"a","max_attempts":0}`:                "line 2: max_attempts: must be a whole number",
		`{"kind":"a","tags":"x"}`:                      "line 2: tags: must be a list",
		`{"kind":"a","tags":[1]}`:                      "line 2: tags: must be a list",
		`{"kind":"a","run_at":"soon"}`:                 "line 2: run_at: is neither",
		`{"kind":"a","run_at":5}`:                      "line 2: run_at: must be a string",
		`{"kind":"a","args":{"x":["\ud800"]}}`:         "line 2: args.x[0]: ",
		`{"kind":"a` + "\xff" + `"}`:                   "line 2: is not UTF-8",
		`{"kind":"\u0000"}`:                            "line 2: kind: ",
		`{"kind":"a","kind":"b"}`:                      "line 2: kind: is given more than once",
		`{"kind":"a","k\u0069nd":"a"}`:                 "line 2: kind: is given more than once",
		`{"args":1,"kind":"a","args":2}`:               "line 2: args: is given more than once",
		`{"kind":"a","run_at":""}`:                     "line 2: run_at: is neither",
		`{"kind":"a","run_at":"0001-01-01T00:00:00Z"}`: "line 2: run_at: must lie between the years",
		`{"kind":"a","args":"` + strings.Repeat("x", maxLineBytes) + `"}`: "line 2: is longer than",
	} {
		c := newLineReader(strings.NewReader("{\"kind\":\"fine\"}\n"+bad+"\n{\"kind\":\"never\"}\n"), time.Now()).next(10, 1<<30)
		var line *lineError
		if !errors.As(c.err, &line) || !strings.HasPrefix(line.Error(), want) {
			t.Errorf("%.60s: %v, want %s", bad, c.err, want)
		}
		if len(c.requests) != 1 || c.requests[0].Kind != "fine" {
			t.Errorf("%.60s: %d good lines before it", bad, len(c.requests))
		}
	}
}

func TestBulkStoresManyLinesInChunks(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	var in strings.Builder
	for i := range 2*chunkLines + 17 {
		fmt.Fprintf(&in, `{"kind":"noop","args":{"i":%d}}`+"\n", i)
	}
	v := runWith(t, onDB(db), in.String(), "enqueue", "--ndjson", "--json").wants(t, exitOK).object(t)
	same(t, "enqueued", v["enqueued"], 2*chunkLines+17)
	same(t, "existing", v["existing"], 0)
	same(t, "distinct args", query[int](t, db, `select count(distinct args->'i') from fenceline.jobs`), 2*chunkLines+17)
	same(t, "the order", query[bool](t, db, `select bool_and((args->>'i')::int = n) from (select args, row_number() over (order by id) - 1 as n from fenceline.jobs) s`), true)
}

func TestABadLineEndsTheBulkAndEverythingBeforeItIsStored(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		"refused while reading":    `{"kind":"noop","nonsense":1}`,
		"refused by the store":     `{"kind":"noop","key":"` + strings.Repeat("k", 2000) + `"}`,
		"conflict with the file":   `{"kind":"noop","key":"key-3","args":[1]}`,
		"conflict with the stored": `{"kind":"noop","key":"before","args":[1]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t)
			runWith(t, onDB(db), "", "enqueue", "noop", "--key", "before").wants(t, exitOK)
			var in strings.Builder
			for i := range 50 {
				if i == 40 {
					fmt.Fprintln(&in, bad)
				} else {
					fmt.Fprintf(&in, `{"kind":"noop","key":"key-%d"}`+"\n", i)
				}
			}
			atomic := runWith(t, onDB(db), in.String(), "enqueue", "--ndjson", "--atomic")
			atomic.complains(t, exitRefused, "line 41: ", "nothing was stored")
			same(t, "jobs after --atomic", query[int](t, db, `select count(*) from fenceline.jobs`), 1)

			r := runWith(t, onDB(db), in.String(), "enqueue", "--ndjson", "--json")
			r.complains(t, exitRefused, "line 41: ", "up to 40 are stored")
			v := r.object(t)
			same(t, "enqueued", v["enqueued"], 40)
			same(t, "the line", v["error"].(map[string]any)["line"], 41)
			same(t, "jobs", query[int](t, db, `select count(*) from fenceline.jobs`), 41)
			same(t, "the last one", query[int](t, db, `select count(*) from fenceline.jobs where key = 'key-39'`), 1)
		})
	}
}

func TestABulkThatIsRepeatedCountsWhatWasThere(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	in := `{"kind":"a","key":"1"}` + "\n" + `{"kind":"a","key":"2"}`
	runWith(t, onDB(db), in, "enqueue", "--ndjson", "--atomic").wants(t, exitOK)
	v := runWith(t, onDB(db), in+"\n"+`{"kind":"a","key":"3"}`, "enqueue", "--ndjson", "--json").wants(t, exitOK).object(t)
	same(t, "enqueued", v["enqueued"], 1)
	same(t, "existing", v["existing"], 2)
}
