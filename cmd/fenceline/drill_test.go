package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestTheDrillPassesAndPrintsEachStep(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	r := runWith(t, onDB(db), "", "drill", "--lease", "2s", "--json").wants(t, exitOK)
	var steps []map[string]any
	for line := range strings.Lines(r.out) {
		var s map[string]any
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("not JSON: %s", line)
		}
		steps = append(steps, s)
	}
	var order []string
	for _, s := range steps {
		worker, _ := s["worker"].(string)
		order = append(order, strings.TrimSpace(s["step"].(string)+" "+worker))
	}
	same(t, "the story", strings.Join(order, ", "),
		"enqueued, claimed A, stopped A, expired A, claimed B, continued A, refused A, completed B, verified B")
	last := steps[len(steps)-1]
	same(t, "ok", last["ok"], true)
	same(t, "the accepted generation", last["generation"], 2)

	same(t, "A's refused result", query[int](t, db, `select count(*) from fenceline.transitions
		where type = 'rejected' and op = 'complete' and generation = 1 and reason = 'superseded'
		and attempt_id::text = $1`, steps[1]["attempt_id"]), 1)
	same(t, "the stored result", query[string](t, db, `select (result->>'by') || result_generation from fenceline.jobs`), "B2")
	same(t, "the queue", query[string](t, db, `select queue from fenceline.jobs`), "drill")
	runWith(t, onDB(db), "", "verify").wants(t, exitOK)
}

func TestADrillThatIsInterruptedLeavesNoWorkersAndNoOpenJob(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	d := begin(t, onDB(db), "drill", "--json")
	eventually(t, "the stop of A", func() bool { return strings.Contains(d.out.String(), `"stopped"`) })
	workers := childrenOf(t, d.cmd.Process.Pid)
	if len(workers) == 0 {
		t.Fatal("the drill has no process of its own")
	}
	d.signal(syscall.SIGTERM)
	same(t, "the exit code", d.wait(), exitRefused)
	eventually(t, "the workers to be gone", func() bool { return noneLives(workers) })
	same(t, "the job", query[string](t, db, `select state::text from fenceline.jobs`), "terminated")
}

func TestTheWorkersOfAKilledDrillAreKilledToo(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	d := begin(t, onDB(db), "drill", "--json")
	eventually(t, "the stop of A", func() bool { return strings.Contains(d.out.String(), `"stopped"`) })
	workers := childrenOf(t, d.cmd.Process.Pid)
	if len(workers) == 0 {
		t.Fatal("the drill has no process of its own")
	}
	d.signal(syscall.SIGKILL)
	d.wait()
	eventually(t, "the workers to be gone", func() bool { return noneLives(workers) })
}

func TestTheConsolesButtonRunsTheDrill(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	s := serve(t, onDB(db))
	press := func() string {
		req, err := http.NewRequest(http.MethodPost, s.url+"/drill", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", s.url)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusSeeOther {
			t.Fatalf("the button answers %s", resp.Status)
		}
		return resp.Header.Get("Location")
	}
	first, second := press(), press()
	if !strings.HasPrefix(first, "/jobs/1") || !strings.HasPrefix(second, "/jobs/1") {
		t.Errorf("it leads to %s, then to %s", first, second)
	}
	eventually(t, "the drill's end", func() bool {
		return query[int](t, db, `select count(*) from fenceline.jobs where state = 'completed' and result->>'by' = 'B'`) == 1
	})
	same(t, "A's refused result", query[int](t, db, `select count(*) from fenceline.transitions where type = 'rejected' and op = 'complete'`), 1)
	same(t, "who began it", query[string](t, db, `select enqueued_by from fenceline.jobs`), "local")
	eventually(t, "the log to say that it passed", func() bool { return strings.Contains(s.err.String(), "drill passed") })
}

// childrenOf are the processes that one started.
func childrenOf(t *testing.T, pid int) []string {
	t.Helper()
	var found []string
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("this system has no /proc to find a process's children in")
	}
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 1 && fields[1] == decimal(int64(pid)) {
			found = append(found, e.Name())
		}
	}
	return found
}

// noneLives reports that the processes are gone. One that nobody waited for is
// a zombie: it runs no more.
func noneLives(pids []string) bool {
	for _, pid := range pids {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err == nil && !strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " Z") {
			return false
		}
	}
	return true
}
