package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/views/chrometest"
)

const (
	figureLease = 10 * time.Minute
	figureEvery = 500 * time.Millisecond // between two renewals of one job
	figureBatch = 50                     // renewals in one transaction
)

// How long it takes from a renewal to its sight, for FEED_READERS readers of the
// stream and one browser beside them, a job each, whose leases are renewed twice
// a second by transactions of 50 for FEED_TIME. The console is a process of its
// own. A renewal's time is the database's, taken before its commit, so its
// commit is part of the figure. It prints, and asserts no time.
func TestFiguresOfTheFeed(t *testing.T) {
	readers, _ := strconv.Atoi(os.Getenv("FEED_READERS"))
	if readers == 0 {
		t.Skip("FEED_READERS says for how many")
	}
	length, err := time.ParseDuration(os.Getenv("FEED_TIME"))
	if err != nil {
		length = 30 * time.Second
	}
	st, url := storetest.NewWithURL(t)
	leases := holdAll(t, st, readers+1)
	base, pid := console(t, url)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var watching, open sync.WaitGroup
	sights := make([]sight, readers)
	open.Add(readers)
	for i := range sights {
		watching.Go(func() { sights[i].watch(ctx, base, leases[i].JobID, open.Done) })
	}
	watched := leases[readers]
	tab := chrometest.Open(t)
	tab.Load(base + jobPath(watched.JobID))
	tab.Live()
	chrometest.Eval[any](tab, `(() => {
		window.sights = [];
		const shown = () => document.querySelector('progress[data-until]')?.dataset.until;
		let last = shown();
		new MutationObserver(() => {
			const until = shown();
			if (until && until !== last) window.sights.push([until, Date.now()]);
			last = until;
		}).observe(document.getElementById('main'), {subtree: true, childList: true, attributes: true, attributeFilter: ['data-until']});
	})()`)
	open.Wait()

	before := resident(t, pid)
	renewed, last := renewAll(t, st, leases, length)
	after := resident(t, pid)
	if n := listening(t, url); n != 1 {
		t.Errorf("%d sessions listen, want 1 for the whole process", n)
	}
	seen := func() bool {
		for i := range sights {
			if !sights[i].knows(last[leases[i].JobID]) {
				return false
			}
		}
		return true
	}
	chrometest.Wait(t, "every reader has seen the last renewal of its job", seen)
	tab.Until(`(s => s.length > 0 && s.at(-1)[0] === '` + until(last[watched.JobID]) + `')(window.sights)`)
	stop()
	watching.Wait()

	var took []time.Duration
	for i := range sights {
		if sights[i].err != nil {
			t.Errorf("reader %d: %v", i, sights[i].err)
		}
		took = append(took, sights[i].took...)
	}
	t.Logf("%d renewals in %s, %.0f a second; the console held %d MB before and %d MB after", renewed, length, float64(renewed)/length.Seconds(), before>>20, after>>20)
	t.Logf("%d readers: %s", readers, figures(took))
	t.Logf("the browser: %s", figures(browserSights(t, tab)))
}

// holdAll enqueues jobs and claims each of them.
func holdAll(t *testing.T, st *store.Store, n int) []store.Lease {
	t.Helper()
	requests := make([]store.Request, n)
	ids := make([]uuid.UUID, n)
	for i := range requests {
		requests[i], ids[i] = store.Request{Kind: "report"}, uuid.New()
	}
	if _, err := st.EnqueueMany(t.Context(), requests); err != nil {
		t.Fatal(err)
	}
	claimed, err := st.Claim(t.Context(), store.ClaimParams{Worker: "host-1", Queue: "default", Kinds: []store.KindLease{{Kind: "report", Lease: figureLease}}, AttemptIDs: ids})
	if err != nil || len(claimed) != n {
		t.Fatalf("claimed %d of %d: %v", len(claimed), n, err)
	}
	leases := make([]store.Lease, n)
	for i, c := range claimed {
		leases[i] = c.Lease
	}
	return leases
}

// console builds the program and runs it, without workers.
func console(t *testing.T, url string) (base string, pid int) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "fenceline")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/fenceline").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	cmd := exec.Command(program, "serve", "--workers", "0", "--listen", addr)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+url, "FENCELINE_LOG_LEVEL=error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	base = "http://" + addr
	chrometest.Wait(t, "the console is ready", func() bool {
		resp, err := http.Get(base + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return base, cmd.Process.Pid
}

// sight is what one reader of the stream saw of its job.
type sight struct {
	mu     sync.Mutex
	newest string
	took   []time.Duration
	err    error
}

var untilShown = regexp.MustCompile(`data-until="([^"]+)"`)

func (s *sight) watch(ctx context.Context, base string, id int64, open func()) {
	s.err = func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/stream?topic=job:%d", base, id), nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		open()
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			m := untilShown.FindSubmatch(lines.Bytes())
			if m == nil {
				continue
			}
			now := time.Now()
			at, err := time.Parse(time.RFC3339Nano, string(m[1]))
			if err != nil {
				return err
			}
			s.mu.Lock()
			if s.newest != "" && s.newest != string(m[1]) {
				s.took = append(s.took, now.Sub(at.Add(-figureLease)))
			}
			s.newest = string(m[1])
			s.mu.Unlock()
		}
		if ctx.Err() != nil {
			return nil
		}
		return errors.Join(lines.Err(), errors.New("the stream ended"))
	}()
}

func (s *sight) knows(t time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest == until(t)
}

// until is a deadline as pages carry it.
func until(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// renewAll renews every lease again and again, and returns how many renewals
// there were and each job's last deadline.
func renewAll(t *testing.T, st *store.Store, leases []store.Lease, length time.Duration) (renewed int, last map[int64]time.Time) {
	t.Helper()
	last = map[int64]time.Time{}
	var mu sync.Mutex
	var writing sync.WaitGroup
	batches := slices.Collect(slices.Chunk(leases, figureBatch))
	end := time.Now().Add(length)
	for i, part := range batches {
		batch := make([]store.Renewal, len(part))
		for j, l := range part {
			batch[j] = store.Renewal{Lease: l, For: figureLease}
		}
		writing.Go(func() {
			time.Sleep(figureEvery * time.Duration(i) / time.Duration(len(batches)))
			for tick := time.NewTicker(figureEvery); time.Now().Before(end); <-tick.C {
				out, err := st.Renew(t.Context(), "host-1", batch)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for j, o := range out {
					if o.Err != nil {
						t.Error(o.Err)
					}
					last[part[j].JobID] = o.Lease.Until
				}
				renewed += len(out)
				mu.Unlock()
			}
		})
	}
	writing.Wait()
	return renewed, last
}

// browserSights is what the tab's observer kept.
func browserSights(t *testing.T, tab *chrometest.Tab) []time.Duration {
	t.Helper()
	var took []time.Duration
	for _, s := range chrometest.Eval[[][2]any](tab, `window.sights`) {
		at, err := time.Parse(time.RFC3339Nano, s[0].(string))
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, time.UnixMilli(int64(s[1].(float64))).Sub(at.Add(-figureLease)))
	}
	return took
}

func figures(took []time.Duration) string {
	if len(took) == 0 {
		return "nothing"
	}
	slices.Sort(took)
	of := func(part int) time.Duration { return took[len(took)*part/1000].Round(100 * time.Microsecond) }
	return fmt.Sprintf("%d sights, p50 %s, p99 %s, p99.9 %s", len(took), of(500), of(990), of(999))
}

// resident is the memory of a process, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if kb, found := strings.CutPrefix(line, "VmRSS:"); found {
			n, err := strconv.ParseInt(strings.Fields(kb)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// listening is how many sessions wait for notifications.
func listening(t *testing.T, url string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	err = conn.QueryRow(t.Context(), `select count(*) from pg_stat_activity
		where datname = current_database() and application_name = 'fenceline listener'`).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
