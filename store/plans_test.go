package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

const (
	planFinished = 50000
	planRunning  = 1000
	planWaiting  = 8000  // available, and as many scheduled and due
	planLater    = 20000 // scheduled and not due
	planLost     = 20000 // refusals of last week
)

// crowd fills the tables as months of work leave them: finished jobs with
// their log, and a few that are alive. Nothing tells the planner.
func (f *fixture) crowd() {
	f.t.Helper()
	f.exec(`alter table fenceline.jobs set (autovacuum_enabled = off)`)
	for _, name := range value[[]string](f, `select array_agg(i.inhrelid::regclass::text) from pg_inherits i where i.inhparent = 'fenceline.transitions'::regclass`) {
		f.exec("alter table " + name + " set (autovacuum_enabled = off)")
	}
	f.exec(`insert into fenceline.jobs (kind, state, generation, revision, attempt_id, attempt_end, attempts_used, lease_until, claimed_at, finished_at,
			run_at, worker, result, result_attempt_id, result_generation, args)
		select 'report', 'completed', 1, 3, md5(i::text)::uuid, 'completed', 1, now(), now(), now(), now() - interval '1 hour', 'w', '{"sum": 1}', md5(i::text)::uuid, 1,
			jsonb_build_object('month', i)
		from generate_series(1, $1::int) i`, planFinished)
	f.exec(`insert into fenceline.jobs (kind, state, generation, revision, attempt_id, attempts_used, lease_until, claimed_at, worker)
		select 'report', 'running', 1, 2, md5(i::text)::uuid, 1, now() + interval '1 hour', now(), 'w' from generate_series($1::int + 1, $1::int + $2::int) i`, planFinished, planRunning)
	f.exec(`insert into fenceline.jobs (kind, state) select 'report', 'available' from generate_series(1, $1::int)`, planWaiting)
	f.exec(`insert into fenceline.jobs (kind, state, run_at) select 'report', 'scheduled', now() - interval '1 minute' from generate_series(1, $1::int)`, planWaiting)
	f.exec(`insert into fenceline.jobs (kind, state, run_at) select 'report', 'scheduled', now() + interval '1 day' from generate_series(1, $1::int)`, planLater)
	f.exec(`insert into fenceline.transitions (at, job_id, type, op, reason, generation, attempt_id, kind, queue)
		select now() - interval '3 days', i, 'rejected', 'complete', 'superseded', 1, md5(i::text)::uuid, 'report', 'default' from generate_series(1, $1::int) i`, planLost)
	f.exec(`insert into fenceline.transitions (job_id, type, to_state, revision, attempts_used, max_attempts, kind, queue, run_at)
		select id, 'enqueued', 'available', 1, 0, 10, kind, queue, run_at from fenceline.jobs`)
	f.exec(`insert into fenceline.transitions (job_id, type, from_state, to_state, revision, generation, attempt_id, lease_until, attempts_used, max_attempts, kind, queue)
		select id, 'claimed', 'available', 'running', 2, 1, attempt_id, lease_until, 1, 10, kind, queue from fenceline.jobs where generation > 0`)
	f.exec(`insert into fenceline.transitions (job_id, type, from_state, to_state, revision, generation, attempt_id, attempts_used, max_attempts, kind, queue)
		select id, 'completed', 'running', 'completed', 3, 1, attempt_id, 1, 10, kind, queue from fenceline.jobs where state = 'completed'`)
}

// forget makes the planner's statistics those of tables that were never
// analyzed, or that were analyzed while they were empty.
func (f *fixture) forget(rows int) {
	f.t.Helper()
	f.exec(`delete from pg_statistic where starelid in (select oid from pg_class where relnamespace = 'fenceline'::regnamespace)`)
	f.exec(`update pg_class set reltuples = $1::int, relpages = 0, relallvisible = 0 where relnamespace = 'fenceline'::regnamespace and relkind in ('r', 'i', 'p', 'I')`, rows)
}

// remember gives the planner the statistics of an hour in which all the jobs,
// few or many, were of one sort.
func (f *fixture) remember(sort string, rows int) {
	f.t.Helper()
	tx, err := f.owner.Begin(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	for _, sql := range []string{
		"create temporary table waiting on commit drop as select * from fenceline.jobs where " + sort + " limit 300",
		"analyze waiting",
		"delete from pg_statistic where starelid = 'fenceline.jobs'::regclass",
		`insert into pg_statistic select ('fenceline.jobs'::regclass)::oid, ` + value[string](f, `select string_agg(attname, ', ' order by attnum) from pg_attribute
			where attrelid = 'pg_statistic'::regclass and attnum > 1`) + ` from pg_statistic where starelid = 'waiting'::regclass`,
		fmt.Sprintf("update pg_class set reltuples = %d, relpages = %d where oid = 'fenceline.jobs'::regclass", rows, rows/30),
	} {
		if _, err := tx.Exec(f.ctx, sql); err != nil {
			f.t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := tx.Commit(f.ctx); err != nil {
		f.t.Fatal(err)
	}
}

// plan is a node of what EXPLAIN tells.
type plan struct {
	NodeType  string  `json:"Node Type"`
	Relation  string  `json:"Relation Name"`
	Parent    string  `json:"Parent Relationship"`
	Subplan   string  `json:"Subplan Name"`
	CTE       string  `json:"CTE Name"`
	Index     string  `json:"Index Name"`
	Rows      float64 `json:"Actual Rows"`
	Loops     float64 `json:"Actual Loops"`
	ByFilter  float64 `json:"Rows Removed by Filter"`
	ByJoin    float64 `json:"Rows Removed by Join Filter"`
	ByRecheck float64 `json:"Rows Removed by Index Recheck"`
	Hit       float64 `json:"Shared Hit Blocks"`
	Read      float64 `json:"Shared Read Blocks"`
	Plans     []plan  `json:"Plans"`
}

// looked is how many rows the node had in hand, over all its rounds.
func (p plan) looked() float64 { return (p.Rows + p.ByFilter + p.ByJoin + p.ByRecheck) * p.Loops }

func (p plan) walk(visit func(plan)) {
	visit(p)
	for _, child := range p.Plans {
		child.walk(visit)
	}
}

func (p plan) tree(indent string) string {
	text := fmt.Sprintf("%s%s %s%s%s (%s %s) rows %.0f removed %.0f loops %.0f buffers %.0f\n", indent, p.NodeType, p.Relation, p.CTE, p.Index, p.Parent, p.Subplan,
		p.Rows, p.ByFilter+p.ByJoin+p.ByRecheck, p.Loops, p.Hit+p.Read)
	for _, child := range p.Plans {
		text += child.tree(indent + "  ")
	}
	return text
}

// planner is a tracer that has every statement of a store explained, on a
// connection like the store's own, just before it is sent: what is looked at
// is what the store does, with its arguments and its way of planning.
type planner struct {
	f    *fixture
	conn *pgx.Conn
	look func(sql string, generic bool, p plan)
}

func (f *fixture) planned(look func(string, bool, plan)) *store.Store {
	f.t.Helper()
	conn, err := pgx.ConnectConfig(f.ctx, f.ListenConfig())
	if err != nil {
		f.t.Fatal(err)
	}
	s, err := store.OpenTraced(f.ctx, store.Config{URL: f.url}, &planner{f, conn, look})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { s.Close(); conn.Close(context.Background()) })
	return s
}

func (p *planner) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	switch strings.Fields(strings.ToLower(data.SQL))[0] {
	case "select", "with", "insert", "update":
		p.explain(data.SQL, data.Args)
	}
	return ctx
}

func (p *planner) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (p *planner) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	p.explain(data.Batch.QueuedQueries[0].SQL, data.Batch.QueuedQueries[0].Arguments)
	return ctx
}

func (p *planner) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (p *planner) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// explain looks at the plan for these arguments and, unless the store asks for
// that one each time, at the plan for any arguments: the server may change to
// it after a few calls.
func (p *planner) explain(sql string, args []any) {
	custom := len(args) > 0 && args[0] == any(pgx.QueryExecModeCacheDescribe)
	if custom {
		args = args[1:]
	}
	p.run(sql, false, sql, args)
	if custom || len(args) == 0 {
		return
	}
	literals := make([]string, len(args))
	for i, arg := range args {
		literals[i] = literal(arg)
	}
	for _, prepare := range []string{"set plan_cache_mode = force_generic_plan", "prepare any_arguments as " + sql} {
		if _, err := p.conn.Exec(p.f.ctx, prepare); err != nil {
			p.f.t.Errorf("%s: %v", prepare, err)
			return
		}
	}
	p.run(sql, true, "execute any_arguments ("+strings.Join(literals, ", ")+")", nil)
	if _, err := p.conn.Exec(p.f.ctx, "deallocate any_arguments; reset plan_cache_mode"); err != nil {
		p.f.t.Error(err)
	}
}

// run has the statement done, and takes it back.
func (p *planner) run(sql string, generic bool, explained string, args []any) {
	tx, err := p.conn.Begin(p.f.ctx)
	if err != nil {
		p.f.t.Error(err)
		return
	}
	defer tx.Rollback(context.Background())
	var told []struct{ Plan plan }
	args = append([]any{pgx.QueryExecModeDescribeExec}, args...)
	if err := tx.QueryRow(p.f.ctx, "explain (analyze, buffers, format json, timing off) "+explained, args...).Scan(&told); err != nil {
		p.f.t.Errorf("%s: %v", explained, err)
		return
	}
	p.look(sql, generic, told[0].Plan)
}

// literal spells an argument as SQL.
func literal(v any) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	switch v := v.(type) {
	case nil:
		return "null"
	case time.Duration:
		return quote(fmt.Sprint(v.Seconds(), " seconds"))
	}
	of := reflect.ValueOf(v)
	if of.Kind() != reflect.Slice {
		return quote(fmt.Sprint(v))
	}
	members := make([]string, of.Len())
	for i := range members {
		switch member := of.Index(i).Interface().(type) {
		case *string:
			members[i] = "null"
			if member != nil {
				members[i] = strconv.Quote(*member)
			}
		default:
			members[i] = strconv.Quote(fmt.Sprint(member))
		}
	}
	return quote("{" + strings.Join(members, ",") + "}")
}

// work bounds what a step may cost, counted and not timed: a base, and what
// each member of the batch adds.
type work struct{ rows, rowsEach, buffers, buffersEach float64 }

const (
	planRunningNow = planRunning + 700 // with what the steps leave behind
	planSearch     = store.SearchBound + 100
)

// planDead is what dead entries of an index may add, which the rounds before
// left and which a server under load has not removed yet.
const planDead = 5000

var planBounds = map[string]work{
	"claim":      {20, 2, planDead, 45},
	"renew":      {20, 2, planDead, 26},
	"complete":   {20, 2, planDead, 36},
	"refused":    {20, 2, planDead, 26},
	"superseded": {20, 8, planDead, 60}, // looks its own end up in the log, one day's partition after the other
	"repeated":   {20, 2, planDead, 8},
	"release":    {20, 2, planDead, 36},
	"fail":       {20, 2, planDead, 36},
	"expire":     {planRunningNow, 2, planDead, 45}, // looks at every running job
	"promote":    {20, 2, planDead, 24},
	"home":       {store.CountBound + 100, 0, 8 * planDead, 0},
	"next due":   {20, 0, planDead, 0},
	"list":       {200, 0, planDead, 0},
	"search":     {planSearch, 0, planSearch, 0},
	"view":       {100, 0, planDead, 0},
	"after":      {20, 4, planDead, 30},
	"of":         {1200, 0, planDead, 0},
	"since":      {100, 0, planDead, 0},
	"operate":    {20, 0, planDead, 0},
}

// No statement looks at more than what it is about: not at the finished jobs,
// not at each member once for each member, whatever the statistics say and
// whichever plan the server keeps.
func TestTheCostOfAStatementDoesNotGrowWithWhatIsFinished(t *testing.T) {
	f := open(t)
	f.crowd()
	step, n, statistics := "", 0, ""
	seen := map[string]int{}
	s := f.planned(func(sql string, generic bool, p plan) {
		bound, known := planBounds[step]
		if !known {
			t.Fatalf("no bound is stated for %q", step)
		}
		seen[step]++
		buffers := p.Hit + p.Read
		var wrong []string
		p.walk(func(node plan) {
			if node.NodeType == "ModifyTable" {
				buffers += node.Hit + node.Read
			}
			if node.NodeType == "Seq Scan" && node.Relation != "" {
				wrong = append(wrong, "scans all of "+node.Relation)
			}
			if most := bound.rows + bound.rowsEach*float64(n); node.looked() > most {
				wrong = append(wrong, fmt.Sprintf("%s %s%s%s looks at %.0f rows, at most %.0f are stated", node.NodeType, node.Relation, node.CTE, node.Index, node.looked(), most))
			}
		})
		if most := bound.buffers + bound.buffersEach*float64(n); buffers > most {
			wrong = append(wrong, fmt.Sprintf("%.0f buffers, at most %.0f are stated", buffers, most))
		}
		if len(wrong) > 0 {
			t.Errorf("%s of %d, statistics %s, generic %v: %s\n%s\n%s", step, n, statistics, generic, strings.Join(wrong, "; "), sql, p.tree("  "))
		}
	})
	for _, statistics = range []string{"of tables never analyzed", "of empty tables", "of a few waiting jobs", "of nothing but finished jobs", "fresh"} {
		f.exec("vacuum fenceline.jobs")
		switch statistics {
		case "of tables never analyzed":
			f.forget(-1)
		case "of empty tables":
			f.forget(0)
		case "of a few waiting jobs":
			f.remember("state = 'available'", 300)
		case "of nothing but finished jobs":
			f.remember("state = 'completed'", 300)
		case "fresh":
			f.exec("analyze fenceline.jobs, fenceline.transitions")
		}
		f.everything(s, func(name string, members int) { step, n = name, members })
	}
	for name := range planBounds {
		if seen[name] == 0 {
			t.Errorf("no statement of %q was looked at", name)
		}
	}
}

// everything has the store do all that it does, in small and large batches.
func (f *fixture) everything(s *store.Store, step func(name string, n int)) {
	f.t.Helper()
	check := func(err error) {
		f.t.Helper()
		if err != nil {
			f.t.Fatal(err)
		}
	}
	for _, n := range []int{15, 500} {
		claim := func() []store.Claimed {
			step("claim", n)
			claimed, err := s.Claim(f.ctx, store.ClaimParams{Worker: "w", Queue: store.DefaultQueue, AttemptIDs: attempts(n),
				Kinds: []store.KindLease{{Kind: "mail", Lease: lease}, {Kind: "report", Lease: lease}}})
			check(err)
			if len(claimed) != n {
				f.t.Fatalf("claimed %d, want %d", len(claimed), n)
			}
			return claimed
		}
		held := claim()
		renewals, completions := make([]store.Renewal, n), make([]store.Completion, n)
		failures, releases := make([]store.Failure, n), make([]store.Released, n)
		lapsing := make([]int64, n)
		for i, c := range held {
			renewals[i] = store.Renewal{Lease: c.Lease, For: lease}
			completions[i] = store.Completion{Lease: c.Lease, Result: json.RawMessage("1"), Output: "said"}
			lapsing[i] = c.Lease.JobID
		}
		completions[0].FollowUps = []store.FollowUp{{Name: "mail", Request: store.Request{Kind: "mail"}}}
		step("renew", n)
		_, err := s.Renew(f.ctx, "w", renewals)
		check(err)
		step("complete", n)
		_, err = s.Complete(f.ctx, "w", completions)
		check(err)
		step("refused", n)
		for i := range completions {
			completions[i].Lease.AttemptID = uuid.Must(uuid.NewV7())
		}
		_, err = s.Complete(f.ctx, "w", completions)
		check(err)
		step("superseded", n)
		for i := range completions {
			completions[i].Lease.Generation--
		}
		_, err = s.Complete(f.ctx, "w", completions)
		check(err)
		step("repeated", n)
		for i, c := range held {
			completions[i] = store.Completion{Lease: c.Lease, Result: json.RawMessage("1")}
		}
		_, err = s.Complete(f.ctx, "w", completions)
		check(err)
		for i, c := range claim() {
			releases[i] = store.Released{Lease: c.Lease}
		}
		step("release", n)
		_, err = s.Release(f.ctx, "w", releases)
		check(err)
		for i, c := range claim() {
			failures[i] = store.Failure{Lease: c.Lease, Delay: time.Hour, Error: store.AttemptError{Class: "timeout"}, Output: "said"}
		}
		step("fail", n)
		_, err = s.Fail(f.ctx, "w", failures)
		check(err)
		for i, c := range claim() {
			lapsing[i] = c.Lease.JobID
		}
		f.exec("update fenceline.jobs set lease_until = clock_timestamp() where id = any ($1)", lapsing)
		step("expire", n)
		_, err = s.Expire(f.ctx, n, store.DefaultBackoff)
		check(err)
		step("promote", n)
		_, err = s.Promote(f.ctx, n)
		check(err)
	}
	step("home", 1)
	_, err := s.Home(f.ctx)
	check(err)
	step("next due", 1)
	_, _, err = s.NextDue(f.ctx)
	check(err)
	middle := int64(planFinished / 2)
	for name, filter := range map[string]store.Filter{
		"list": {}, "list before": {Before: middle}, "list after": {After: middle}, "list state": {State: store.Completed, Before: middle},
		"list few": {State: store.Running}, "list none": {State: store.Terminated}, "list kind": {Kind: "mail", Before: middle}, "list kind state": {Kind: "report", State: store.Completed},
		"list queue": {Queue: "nowhere", After: middle}, "list key": {Kind: "report", Key: "march"}, "list key only": {Key: "march"},
	} {
		if filter.Kind+filter.Queue+filter.Key != "" {
			name = "search"
		}
		step(strings.Fields(name)[0], 50)
		_, err := s.Jobs(f.ctx, filter)
		check(err)
	}
	step("view", 1)
	view, err := s.JobView(f.ctx, middle)
	check(err)
	step("after", 500)
	cursors := make([]store.Cursor, 500)
	for i := range cursors {
		cursors[i].JobID = middle + int64(i)
	}
	_, err = s.TransitionsAfter(f.ctx, cursors, 5000)
	check(err)
	step("of", 1)
	_, err = s.TransitionsOf(f.ctx, []uint64{view.Horizon - 1, view.Horizon - 2}, nil)
	check(err)
	step("of", 1)
	_, err = s.TransitionsOf(f.ctx, []uint64{view.Horizon - 1, view.Horizon - 2}, []int64{middle})
	check(err)
	step("since", 1)
	_, err = s.TransitionsSince(f.ctx, []int64{middle, middle + 1}, 0, 1000)
	check(err)
	step("operate", 1)
	_, err = s.Requeue(f.ctx, store.OperatorParams{JobID: middle, Seen: view.Job.Revision, Actor: "oncall", Reason: "again"})
	check(err)
	_, err = s.Terminate(f.ctx, store.OperatorParams{JobID: middle, Seen: view.Job.Revision + 1, Actor: "oncall", Reason: "no"})
	check(err)
}

// A renewal changes nothing that an index holds, so that it stays within its
// page: no index grows with the number of renewals.
func TestARenewalTouchesNoIndex(t *testing.T) {
	f := open(t)
	f.exec("alter table fenceline.jobs set (autovacuum_enabled = off)")
	const jobs, rounds = 200, 20
	f.enqueueMany(slices.Repeat([]store.Request{{Kind: "report"}}, jobs))
	var batch []store.Renewal
	for _, c := range f.claimAs("a", jobs) {
		batch = append(batch, store.Renewal{Lease: c.Lease, For: lease})
	}
	size := value[int64](f, "select pg_indexes_size('fenceline.jobs')")
	for range rounds {
		// Old versions go at once, as they do by themselves unless a transaction
		// is open anywhere on the server.
		f.exec("vacuum fenceline.jobs")
		out, err := f.Renew(f.ctx, "a", batch)
		if err != nil || out[0].Err != nil || out[jobs-1].Err != nil {
			t.Fatal(err, out[0], out[jobs-1])
		}
	}
	f.Close() // a session tells its counts when it ends
	var all, hot int64
	for deadline := time.Now().Add(20 * time.Second); all < jobs*(1+rounds); time.Sleep(10 * time.Millisecond) {
		err := f.owner.QueryRow(f.ctx, "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relid = 'fenceline.jobs'::regclass").Scan(&all, &hot)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%d updates were counted, %v", all, err)
		}
	}
	if share := float64(hot) / (jobs * rounds); all != jobs*(1+rounds) || share < 0.9 {
		t.Errorf("%d of %d renewals stayed within their page", hot, jobs*rounds)
	}
	if now := value[int64](f, "select pg_indexes_size('fenceline.jobs')"); now > size+10*8192 {
		t.Errorf("the indexes grew from %d to %d bytes", size, now)
	}
}
