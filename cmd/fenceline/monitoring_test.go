package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// gauges is every metric of a page of figures: the names of its labels.
type gauges map[string]map[string]bool

// read adds what /metrics of an address shows now.
func (s gauges) read(t *testing.T, url string) {
	t.Helper()
	body := figures(t, url)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("/metrics cannot be read: %v\n%s", err, body)
	}
	for name, family := range families {
		names := []string{name}
		labels := map[string]bool{"instance": true, "job": true}
		for _, m := range family.GetMetric() {
			for _, pair := range m.GetLabel() {
				labels[pair.GetName()] = true
			}
			if h := m.GetHistogram(); h != nil {
				names = []string{name + "_bucket", name + "_count", name + "_sum"}
				for _, b := range h.GetBucket() {
					labels["le"], labels[fmt.Sprintf(`le="%v"`, b.GetUpperBound())] = true, true
				}
			}
		}
		for _, name := range names {
			if s[name] == nil {
				s[name] = map[string]bool{}
			}
			maps.Copy(s[name], labels)
		}
	}
}

func figures(t *testing.T, url string) []byte {
	t.Helper()
	res, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%d: %v", res.StatusCode, err)
	}
	return body
}

var (
	selector = regexp.MustCompile(`\b(fenceline_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
)

// holds wants every metric and label of an expression to be shown.
func (s gauges) holds(t *testing.T, where, expr string) {
	t.Helper()
	found := selector.FindAllStringSubmatch(expr, -1)
	if len(found) == 0 && !strings.HasPrefix(expr, "up{") {
		t.Errorf("%s names no metric: %s", where, expr)
	}
	for _, f := range found {
		labels, there := s[f[1]]
		if !there {
			t.Errorf("%s: no process shows %s", where, f[1])
			continue
		}
		for _, m := range matcher.FindAllStringSubmatch(f[2], -1) {
			if !labels[m[1]] || m[1] == "le" && !labels[m[0]] {
				t.Errorf("%s: %s has no label %s", where, f[1], m[0])
			}
		}
	}
	for _, by := range regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
		for _, label := range strings.Split(by[1], ",") {
			known := false
			for _, f := range found {
				known = known || s[f[1]][strings.TrimSpace(label)]
			}
			if !known {
				t.Errorf("%s: nothing of it has the label %s: %s", where, label, expr)
			}
		}
	}
}

// besides is where a worker shows its figures.
func (p *process) besides() string {
	p.t.Helper()
	var url string
	eventually(p.t, "the line that says where the figures are", func() bool {
		for _, line := range strings.Split(p.err.String(), "\n") {
			var said struct {
				URL string `json:"url"`
			}
			if json.Unmarshal([]byte(line), &said) == nil && at(&url, strings.TrimSuffix(said.URL, "/metrics")) {
				return true
			}
		}
		return false
	})
	return url
}

// busy is a console and a worker process that did everything worth counting.
func busy(t *testing.T) gauges {
	t.Helper()
	db := migrated(t)
	s := serve(t, onDB(db), "--workers", "1")
	w := begin(t, onDB(db), "worker", "--metrics-listen", "127.0.0.1:0", "--lease", "3s", "--workers", "0", "--queue", "slow=1",
		"--command", "sleep="+script(t, "cat >/dev/null; exec sleep 300"))
	url := w.besides()
	runWith(t, onDB(db), "", "enqueue", "noop").wants(t, exitOK)
	runWith(t, onDB(db), "", "enqueue", "command", "--queue", "slow", "--args", `{"name": "sleep", "input": 1}`).wants(t, exitOK)
	eventually(t, "renewals", func() bool { return strings.Contains(string(figures(t, url)), "fenceline_renewals_total{") })
	id := query[int64](t, db, "select id from fenceline.jobs where queue = 'slow'")
	runWith(t, onDB(db), "", "jobs", "terminate", decimal(id), "--reason", "to see a refusal").wants(t, exitOK)
	query[int](t, db, `select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database() and query ilike 'listen%'`)
	all := gauges{}
	for _, word := range []string{"fenceline_refusals_total{", "fenceline_leases_lost_total{", "fenceline_attempts_ended_total{", "fenceline_database_errors_total{"} {
		eventually(t, word, func() bool { return strings.Contains(string(figures(t, url)), word) })
	}
	runWith(t, onDB(db), "", "enqueue", "noop", "--queue", "nobody").wants(t, exitOK)
	eventually(t, "the queue that nobody works", func() bool {
		_, page := s.get("/metrics")
		return strings.Contains(page, `queue_oldest_seconds{queue="nobody"}`)
	})
	all.read(t, s.url)
	all.read(t, url)
	return all
}

func TestEveryMetricOfTheDashboardAndTheAlertsIsShownByARealProcess(t *testing.T) {
	t.Parallel()
	all := busy(t)
	var dashboard struct {
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr string }
		}
	}
	text := document(t, "monitoring/dashboard.json")
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			all.holds(t, "panel "+p.Title, target.Expr)
		}
	}
	rules := regexp.MustCompile(`(?m)^ +expr: (?:>\n((?:          .*\n)+)|(.*)\n)`).FindAllStringSubmatch(document(t, "monitoring/alerts.yaml"), -1)
	if len(rules) < 10 {
		t.Errorf("only %d rules were found", len(rules))
	}
	for _, rule := range rules {
		all.holds(t, "alert", rule[1]+rule[2])
	}
	operating := document(t, "operating.md")
	for name := range all {
		name = strings.NewReplacer("_bucket", "", "_sum", "", "_count", "").Replace(name)
		if strings.HasPrefix(name, "fenceline_") && !strings.Contains(operating, "`"+name+"`") {
			t.Errorf("docs/operating.md does not tell of %s", name)
		}
	}
}

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAWorkerShowsWhetherItLivesAndIsReady(t *testing.T) {
	t.Parallel()
	w := begin(t, onDB(migrated(t)), "worker", "--metrics-listen", "127.0.0.1:0", "--log-format", "json")
	url := w.besides()
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		res, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Errorf("%s answers %d", path, res.StatusCode)
		}
	}
	if page := string(figures(t, url)); strings.Contains(page, "fenceline_jobs{") {
		t.Error("it counts the database's jobs, which the console does")
	}
}
