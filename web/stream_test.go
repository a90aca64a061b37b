package web_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web"
)

func TestAWatchedJobsTransitionsArriveAsPatches(t *testing.T) {
	c := open(t)
	id := c.enqueue(store.Request{})
	s := c.follow("/stream?topic=job:" + text(id))
	s.await("says hello", named("hello"))
	lease := c.claim("worker-one", "report", time.Minute)
	s.await("shows the claim", patch("job-"+text(id)+"-head", "worker-one", "claimed"))
	c.renew("worker-one", lease)
	s.await("shows the renewal", patch("renewed"))
	if err := c.complete("worker-one", lease, `{"total": 3}`); err != nil {
		t.Fatal(err)
	}
	last := s.await("shows the end with its masked result", patch("completed", "total", "made by attempt 1"))
	if last.id == "" {
		t.Error("the patch has no position to resume from")
	}
}

func TestALateResultAppearsOnTheOldAttemptsLane(t *testing.T) {
	c := open(t)
	id := c.enqueue(store.Request{})
	old := c.claim("slow", "report", time.Minute)
	s := c.follow("/stream?topic=job:" + text(id))
	s.await("shows the claim", patch("slow"))
	c.exec("update fenceline.jobs set lease_until = clock_timestamp() - interval '1 second' where id = $1", id)
	if _, err := c.store.Expire(c.ctx, 10, store.Backoff{Base: time.Millisecond, Cap: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	c.claim("quick", "report", time.Minute)
	if err := c.complete("slow", old, `1`); err == nil {
		t.Fatal("the late result was accepted")
	}
	s.await("shows the refusal", patch("superseded", "job-"+text(id)+"-lanes", "job-"+text(id)+"-transitions"))
}

func TestTheStreamsHeadersKeepProxiesAndBrowsersFromHoldingItBack(t *testing.T) {
	c := open(t)
	id := c.enqueue(store.Request{})
	for _, path := range []string{"/stream?topic=home", "/api/v1/jobs/" + text(id) + "/transitions/stream"} {
		s := c.follow(path, "Accept-Encoding", "gzip, br")
		for name, value := range map[string]string{
			"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store, no-transform",
			"X-Accel-Buffering": "no", "Content-Encoding": "", "X-Content-Type-Options": "nosniff",
		} {
			if got := s.header.Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", path, name, got, value)
			}
		}
	}
}

func TestBeatsComeOnTimeAndTellTheDatabasesClock(t *testing.T) {
	c := open(t, func(cfg *web.Config) { cfg.Heartbeat = 20 * time.Millisecond })
	id := c.enqueue(store.Request{})
	for _, path := range []string{"/stream?topic=job:" + text(id), "/api/v1/jobs/" + text(id) + "/transitions/stream"} {
		s := c.follow(path)
		c.eventually("five beats", func() bool { return len(s.all("beat")) >= 5 })
		var b struct{ Now time.Time }
		if err := json.Unmarshal([]byte(s.all("beat")[4].data), &b); err != nil {
			t.Fatal(err)
		}
		now, err := c.store.Clock(c.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if off := now.Sub(b.Now).Abs(); off > patience {
			t.Errorf("%s: the beat's clock is %s off", path, off)
		}
	}
}

func TestADefaultBeatComesAtLeastEveryFifteenSeconds(t *testing.T) {
	// The browser counts a stream as dead after 25 s of silence.
	if got := web.DefaultHeartbeat(); got > 15*time.Second {
		t.Errorf("a beat every %s", got)
	}
}

func TestWhatCommitsBetweenThePageAndItsStreamIsSentOnce(t *testing.T) {
	c := open(t)
	id := c.enqueue(store.Request{})
	page := want(t, c.get("/jobs/"+text(id)), 200).body
	position := between(page, `data-position="`, `"`)
	c.claim("in-between", "report", time.Minute)
	s := c.follow("/stream?topic=job:" + text(id) + "&after=" + position)
	e := s.await("shows what happened in between", patch("in-between"))
	row := `id="t-` + text(c.transitions(id)[1].ID) + `"`
	if n := strings.Count(e.data, row); n != 1 {
		t.Errorf("the transition stands %d times in the patch", n)
	}
}

func TestAPageThatIsUpToDateIsSentNothing(t *testing.T) {
	c := open(t)
	id := c.enqueue(store.Request{})
	c.eventually("the horizon passes the enqueue", func() bool {
		c.exec("select pg_current_xact_id()")
		horizon, err := c.store.Horizon(c.ctx)
		return err == nil && horizon > c.transitions(id)[0].XID
	})
	page := want(t, c.get("/jobs/"+text(id)), 200).body
	s := c.follow("/stream?topic=job:" + text(id) + "&after=" + between(page, `data-position="`, `"`))
	s.await("says hello", named("hello"))
	c.claim("later", "report", time.Minute)
	s.await("shows the claim", patch("later"))
	if first := s.all("patch")[0]; !strings.Contains(first.data, "later") {
		t.Errorf("the page was sent again: %s", excerpt(first.data))
	}
}

func TestAReaderThatComesBackAfterARestartMissesNothing(t *testing.T) {
	c := open(t)
	id := c.enqueue(store.Request{})
	s := c.follow("/stream?topic=job:" + text(id))
	c.claim("before", "report", time.Minute)
	last := s.await("shows the claim", patch("before"))
	c.Close()
	<-s.done
	c.exec("update fenceline.jobs set lease_until = clock_timestamp() - interval '1 second' where id = $1", id)
	if _, err := c.store.Expire(c.ctx, 10, store.Backoff{Base: time.Millisecond, Cap: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	other := c.another()
	again := other.follow("/stream?topic=job:"+text(id)+"&after=1", "Last-Event-ID", last.id)
	again.await("shows what was missed", patch("expired"))
	if len(again.all("resync")) > 0 {
		t.Error("it had to read the page again")
	}
}

func TestAbsurdPositionsAskForTheWholePage(t *testing.T) {
	c := open(t)
	id := c.enqueue(store.Request{})
	for _, last := range []string{"9223372036854775807", "18446744073709551616", "-1", "x", "1e3", "0x10", "١٢", strings.Repeat("9", 400), "4611686018427387904"} {
		s := c.follow("/stream?topic=job:"+text(id), "Last-Event-ID", last)
		s.await("asks to read the page again", named("resync"))
		s.await("goes on all the same", patch("job-"+text(id)+"-head"))
		s.close()
	}
	s := c.follow("/stream?topic=home&after=99999999999999")
	s.await("asks to read the page again", named("resync"))
}

func TestNoTextOfAUserForgesAnEvent(t *testing.T) {
	c := open(t)
	reason := "a\r\nevent: forged\r\ndata: x\r\n\r\nid: 7\rretry: 1\n\n</td><script>alert(1)</script>"
	id := c.enqueue(store.Request{})
	s := c.follow("/stream?topic=job:" + text(id) + "&topic=home&topic=jobs")
	raw := c.follow("/api/v1/jobs/" + text(id) + "/transitions/stream")
	if _, err := c.store.Terminate(c.ctx, store.OperatorParams{JobID: id, Seen: 1, Actor: "local", Reason: reason}); err != nil {
		t.Fatal(err)
	}
	e := s.await("shows the termination", patch("terminated", "event: forged"))
	if strings.Contains(e.data, "<script") {
		t.Error("markup of a user is markup of the page")
	}
	e = raw.await("shows the termination", func(e event) bool { return e.name == "transition" && strings.Contains(e.data, "terminated") })
	var sent struct{ Reason string }
	if err := json.Unmarshal([]byte(e.data), &sent); err != nil || sent.Reason != reason {
		t.Errorf("the reason is %q, %v", sent.Reason, err)
	}
	for _, from := range []*stream{s, raw} {
		for _, e := range from.all() {
			if !contains([]string{"hello", "beat", "patch", "transition"}, e.name) || e.id == "7" {
				t.Errorf("an event %q with id %q", e.name, e.id)
			}
		}
	}
}

func TestHomeAndListsFollowWhatHappens(t *testing.T) {
	c := open(t)
	home := c.follow("/stream?topic=home")
	list := c.follow("/stream?topic=jobs")
	running := c.follow("/stream?topic=jobs:state%3Drunning")
	id := c.enqueue(store.Request{Kind: "fresh"})
	home.await("shows the job", patch(`id="newest"`, "row-"+text(id)))
	list.await("offers the row to the whole list only", patch("row-"+text(id), `#rows[data-want=&#34;&#34;]`))
	c.claim("w", "fresh", time.Minute)
	running.await("offers the row to the list of what runs", patch("row-"+text(id), `[data-want=&#34;q=state%3Arunning&#34;]`))
	list.await("changes the row", patch("row-"+text(id), "running"))
}

func TestTheRowsOfAPageAreFollowedWhereTheyStand(t *testing.T) {
	c := open(t)
	id := c.enqueue(store.Request{})
	page := want(t, c.get("/jobs?state=available"), 200).body
	topics := strings.Fields(between(page, `data-topics="`, `"`))
	if len(topics) != 2 || topics[0] != "jobs:q=state%3Aavailable" || topics[1] != "rows:"+text(id) {
		t.Fatalf("topics %q", topics)
	}
	s := c.follow("/stream?topic=rows:" + text(id))
	c.claim("w", "report", time.Minute)
	e := s.await("changes the row", patch("row-"+text(id), "running"))
	if strings.Contains(e.data, "#rows") {
		t.Error("the row would join a list that does not show it")
	}
}

func TestTopicsThatCannotBeAreNamed(t *testing.T) {
	c := open(t)
	many := strings.Repeat("topic=home&", 51)
	for _, q := range []string{"", "topic=", "topic=foo", "topic=job:", "topic=job:x", "topic=job:-1", "topic=job:9223372036854775808", "topic=rows:1,x", "topic=jobs:state=%zz", "topic=jobs:q%3Dstat%253Ax", "topic=jobs:q%3Dargs.x%253A1", many} {
		a := c.get("/stream?" + q)
		if a.status != 422 && a.status != 400 {
			t.Errorf("%s: status %d", excerpt(q), a.status)
		}
	}
	want(t, c.get("/stream?topic=job:999"), 404)
	id := c.enqueue(store.Request{})
	s := c.follow("/stream?topic=job:999&topic=job:" + text(id))
	s.await("shows the one that exists", patch("job-"+text(id)+"-head"))
}

func TestARoomIsOpenOnlyWhileSomebodyIsInIt(t *testing.T) {
	c := open(t)
	id := c.enqueue(store.Request{})
	streams := make([]*stream, 5)
	for i := range streams {
		streams[i] = c.follow("/stream?topic=job:" + text(id) + "&topic=home")
		streams[i].await("says hello", named("hello"))
	}
	if n := c.OpenRooms(); n != 2 {
		t.Errorf("%d rooms for two topics", n)
	}
	for _, s := range streams {
		s.close()
	}
	c.eventually("the rooms are closed", func() bool { return c.OpenRooms() == 0 && c.OpenStreams() == 0 })
	if w := c.hub.Status().Watchers; w != 0 {
		t.Errorf("%d jobs are still watched", w)
	}
}

// between is the text between two others.
func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}
