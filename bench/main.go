// Bench measures Fenceline beside other job systems: on one PostgreSQL with
// durable settings, in alternating rounds, at defaults and at the best settings
// known. `go run . ` prints one table and writes JSON; `go run . late` asks who
// accepts a late completion.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

type options struct {
	short  bool
	rounds int
	jobs   int
	only   string
	who    string
	json   string
	node   string
}

func main() {
	if os.Getenv(asynqWorker) != "" && len(os.Args) == 4 {
		if err := runAsynqWorker(os.Args[1], os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.BoolVar(&o.short, "short", false, "a minute's worth: fewer jobs, one round, no million finished jobs")
	flag.IntVar(&o.rounds, "rounds", 0, "how many rounds; 0 means 5, or 1 with -short")
	flag.IntVar(&o.jobs, "jobs", 0, "how many jobs are drained; 0 means 100000, or 10000 with -short")
	flag.StringVar(&o.only, "rows", "", "only these, as in drain,finished,single,latency,snapshot,renewals; empty means all")
	flag.StringVar(&o.who, "who", "", "only contestants whose name begins with one of these, as in Fenceline,River")
	flag.StringVar(&o.json, "json", "bench.json", "where the JSON goes; empty for nowhere")
	flag.StringVar(&o.node, "node", "node", "the directory of the Node peers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, args []string) error {
	server, err := startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer server.stop()
	node, err := findPeers(o.node)
	if err != nil {
		fmt.Fprintf(os.Stderr, "without graphile-worker and pg-boss: %v\n", err)
	}
	if len(args) > 0 && args[0] == "late" {
		return late(ctx, server, node)
	}
	if len(args) > 0 {
		return fmt.Errorf("there is no %q; run without arguments, or with late", args[0])
	}
	return compare(ctx, o, server, node)
}

func (o options) sizes() sizes {
	s := sizes{rounds: 5, jobs: 100_000, finished: 1_000_000, single: 20_000, timed: 2000, held: 200_000, renewals: 10 * time.Second}
	if o.short {
		s = sizes{rounds: 1, jobs: 10_000, single: 2000, timed: 200, renewals: 2 * time.Second}
	}
	if o.rounds > 0 {
		s.rounds = o.rounds
	}
	if o.jobs > 0 {
		s.jobs = o.jobs
	}
	return s
}

// contestants are the systems at their defaults and at the best settings found
// for draining no-op jobs on two cores.
func contestants(node *peers, short bool) (atBest, atDefaults []*contestant) {
	const limit = time.Minute
	brief := 5 * time.Second
	if short {
		brief = time.Second
	}
	atBest = []*contestant{
		fenceline("2,000 slots", 2000, limit),
		riverQueue("2,000 workers, 1 ms cooldown", riverTuning{2000, time.Millisecond, 20 * time.Millisecond}, limit),
		gueQueue("16 workers", 16, brief),
		bareQueue(),
	}
	atDefaults = []*contestant{
		fenceline("defaults", 0, brief),
		riverQueue("defaults", riverTuning{workers: 100}, brief),
	}
	if node == nil {
		return atBest, atDefaults
	}
	own := func(settings string) map[string]any { return map[string]any{"settings": raw(settings)} }
	atBest = append(atBest,
		node.contestant("graphile-worker", "graphile.mjs", "local queue 500, batched completions", limit,
			own(`{"concurrentJobs": 24, "maxPoolSize": 20, "localQueue": {"size": 500}, "completeJobBatchDelay": 0, "failJobBatchDelay": 0}`)),
		node.contestant("pg-boss", "pgboss.mjs", "batches of 1,000, burst, notify", limit, map[string]any{
			"settings": raw(`{"batchSize": 1000, "burstWhenBatchFull": true, "pollingIntervalSeconds": 0.5}`),
			"options":  raw(`{"useListenNotify": true}`), "queue": raw(`{"notify": true}`)}))
	atDefaults = append(atDefaults,
		node.contestant("graphile-worker", "graphile.mjs", "defaults", brief, own(`{}`)),
		node.contestant("pg-boss", "pgboss.mjs", "defaults", brief, own(`{}`)))
	return atBest, atDefaults
}

func compare(ctx context.Context, o options, server *server, node *peers) error {
	version, err := server.version(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	b := &bench{server: server, log: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%6.0f s  "+format+"\n", append([]any{time.Since(began).Seconds()}, args...)...)
	}}
	before := load()
	best, defaults := contestants(node, o.short)
	best, defaults = o.chosen(best), o.chosen(defaults)
	if err := b.all(ctx, o, best, defaults); err != nil {
		return err
	}
	r := b.report(version, before)
	r.print(os.Stdout)
	if o.json == "" {
		return nil
	}
	return r.write(o.json)
}

func (o options) chosen(all []*contestant) []*contestant {
	return those(all, func(c *contestant) bool {
		for name := range strings.SplitSeq(o.who, ",") {
			if strings.HasPrefix(c.name, name) {
				return true
			}
		}
		return false
	})
}

func (o options) wants(row string) bool {
	if o.only == "" {
		return true
	}
	for name := range strings.SplitSeq(o.only, ",") {
		if name == row {
			return true
		}
	}
	return false
}

// all measures every row that is wanted.
func (b *bench) all(ctx context.Context, o options, best, defaults []*contestant) error {
	s := o.sizes()
	everyone := append(append([]*contestant{}, best...), defaults...)
	keeping := those(best, func(c *contestant) bool { return c.keeps })
	steps := []struct {
		name string
		run  func() error
	}{
		{"drain", func() error { return b.bulkAndDrain(ctx, everyone, s) }},
		{"finished", func() error { return b.afterFinished(ctx, keeping, s) }},
		{"single", func() error { return b.single(ctx, best, s) }},
		{"latency", func() error {
			return b.latency(ctx, those(everyone, func(c *contestant) bool { return c.latency != nil && c.waits() }), s)
		}},
		{"snapshot", func() error { return b.heldSnapshot(ctx, keeping, s) }},
		{"renewals", func() error {
			for _, c := range those(best, func(c *contestant) bool { return c.name == "Fenceline" }) {
				return b.renewals(ctx, c, s)
			}
			return nil
		}},
	}
	for _, step := range steps {
		if !o.wants(step.name) {
			continue
		}
		if err := step.run(); err != nil {
			return err
		}
	}
	return nil
}

// waits is false where no latency at 200 jobs a second can be measured: a
// worker that polls every two seconds for one job starts one in two seconds.
// Fenceline is measured at its defaults only.
func (c *contestant) waits() bool {
	return !(c.name == "pg-boss" && c.settings == "defaults") && !(c.name == "Fenceline" && c.settings != "defaults")
}

func raw(settings string) json.RawMessage { return json.RawMessage(settings) }
