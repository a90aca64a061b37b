package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
	"github.com/fenceline/fenceline/store/storetest"
)

// parsed is a search that is known to be one.
func parsed(text string) search.Query {
	q, err := search.Parse(text)
	if err != nil {
		panic(err)
	}
	return q
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
	step("figures", 7)
	_, err = s.Figures(f.ctx)
	check(err)
	step("minutes", 1)
	_, err = s.Minutes(f.ctx, time.Hour)
	check(err)
	step("incidents", 1)
	_, err = f.Watch(f.ctx, []store.Sighting{{Rule: "expiry-spike", Severity: "high", Types: []store.Type{store.TypeExpired}}}, time.Hour)
	check(err)
	known, err := s.Incidents(f.ctx)
	check(err)
	_, err = s.Incident(f.ctx, known.Active[0].ID)
	check(err)
	step("report", 1)
	_, err = s.IncidentReport(f.ctx, known.Active[0].ID)
	check(err)
	step("tell", 1)
	_, err = s.Tell(f.ctx, store.NoticeRule{Target: "pager", Severities: []string{"high"}, Most: 50, Body: func(time.Time, []store.Notice) (json.RawMessage, error) { return json.RawMessage("1"), nil }})
	check(err)
	_, err = s.Told(f.ctx, []string{"pager"})
	check(err)
	step("facts", 1)
	_, err = s.Facts(f.ctx)
	check(err)
	storetest.AwaitHorizon(f.t, f.url)
	step("roll", 1)
	_, err = s.Roll(f.ctx)
	check(err)
	step("check", 1)
	_, err = s.VerifyNext(f.ctx)
	check(err)
	_, err = s.Verification(f.ctx)
	check(err)
	step("sample", 1)
	_, err = s.SampleQueues(f.ctx)
	check(err)
	step("past", 1)
	_, err = s.Past(f.ctx, time.Now().Add(-time.Minute))
	check(err)
	step("next due", 1)
	_, _, err = s.NextDue(f.ctx)
	check(err)
	middle := int64(planFinished / 2)
	for name, filter := range map[string]store.Filter{
		"list": {}, "list after": {After: place(middle)}, "list before": {Before: place(middle)}, "list state": {State: store.Completed, After: place(middle)},
		"list few": {State: store.Running}, "list none": {State: store.Terminated}, "list kind": {Kind: "mail", After: place(middle)}, "list kind state": {Kind: "report", State: store.Completed},
		"list queue": {Queue: "nowhere", Before: place(middle)}, "list key": {Kind: "report", Key: "march"}, "list key only": {Key: "march"},
		"list finished": {Order: store.OrderFinished}, "list finished of two": {Order: store.OrderFinishedFirst, Query: parsed("state:completed,discarded")}, "list due": {Order: store.OrderDue},
		"list due back": {Order: store.OrderDueLast, Before: store.Place{At: time.Now(), ID: 5}}, "list ended": {Query: parsed("finished:>-1h")}, "list none ended": {Query: parsed("finished:<2020-01-01")},
		"list keys": {Query: parsed("key:march")}, "list ids": {Query: parsed("id:5,7,9000000")}, "list states": {Query: parsed("state:running,retryable")},
		"probe lost": {Query: parsed("lease:expired")}, "probe refused": {Query: parsed("refused:yes")}, "probe refused kind": {Query: parsed("refused:yes kind:mail")},
		"probe error": {Query: parsed("error:timeout")}, "search worker": {Query: parsed("worker:nobody")}, "search old": {Query: parsed("older:1w")}, "search args": {Query: parsed("args.month:-1")},
		"search not": {Query: parsed("-kind:report")}, "search order": {Order: store.OrderFinished, Query: parsed("queue:nowhere")},
	} {
		if filter.Kind+filter.Queue+filter.Key != "" {
			name = "search"
		}
		step(strings.Fields(name)[0], 50)
		_, err := s.Jobs(f.ctx, filter)
		check(err)
		step("count", 1)
		_, err = s.Matching(f.ctx, filter)
		check(err)
	}
	step("known", 1)
	_, err = s.Known(f.ctx)
	check(err)
	for name, read := range map[string]func() error{
		"queues":    func() error { _, err := s.Queues(f.ctx); return err },
		"queue":     func() error { _, err := s.Queue(f.ctx, store.DefaultQueue); return err },
		"heads":     func() error { _, err := s.Unhandled(f.ctx); return err },
		"prospects": func() error { _, err := s.Prospects(f.ctx, store.DefaultQueue, "mail"); return err },
		"workers":   func() error { _, err := s.Workers(f.ctx); return err },
		"worker":    func() error { _, err := s.Worker(f.ctx, "w"); return err },
		"beat": func() error {
			if err := s.RegisterWorker(f.ctx, store.WorkerStart{ID: "w", Beat: time.Second}); err != nil {
				return err
			}
			_, err := s.Beat(f.ctx, "w", store.WorkerCounts{})
			return err
		},
		"control": func() error {
			p := f.change(store.ScopeQueue, store.DefaultQueue)
			_, err := s.Limit(f.ctx, p, store.Limits{Concurrency: 100000, Rate: store.Rate{N: 100000, Per: time.Minute}})
			return err
		},
	} {
		step(name, 1)
		check(read())
	}
	step("claim", 15) // under limits
	limited, err := s.Claim(f.ctx, store.ClaimParams{Worker: "w", Queue: store.DefaultQueue, AttemptIDs: attempts(15),
		Kinds: []store.KindLease{{Kind: "mail", Lease: lease}, {Kind: "report", Lease: lease}}})
	check(err)
	if len(limited) != 15 {
		f.t.Fatalf("claimed %d under limits", len(limited))
	}
	step("control", 1)
	_, err = s.Limit(f.ctx, f.change(store.ScopeQueue, store.DefaultQueue), store.Limits{})
	check(err)
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
	f.operations(s, step, check)
	step("operate", 1)
	on := func(do func(store.OperatorParams) (store.Job, error)) {
		f.t.Helper()
		p := store.OperatorParams{JobID: middle, Seen: f.job(middle).Revision, Actor: "oncall", Reason: "again", Request: uuid.New()}
		for range 2 { // the second is a repeat
			_, err := do(p)
			check(err)
		}
	}
	on(func(p store.OperatorParams) (store.Job, error) { return s.Requeue(f.ctx, p) })
	n := f.job(middle).Revision
	change := store.Change{NewArgs: store.NewArgs{Args: json.RawMessage(fmt.Sprint(n))}, Priority: new(int16), Queue: fmt.Sprint("q", n), RunAt: time.Now().Add(time.Hour), MaxAttempts: int(n) + 20, AddTag: fmt.Sprint(n)}
	*change.Priority = int16(n)
	on(func(p store.OperatorParams) (store.Job, error) { return s.Amend(f.ctx, p, change) })
	before := store.NewArgs{Restore: f.job(middle).ArgsVersion - 1}
	on(func(p store.OperatorParams) (store.Job, error) {
		return s.Amend(f.ctx, p, store.Change{NewArgs: before, RemoveTag: change.AddTag})
	})
	on(func(p store.OperatorParams) (store.Job, error) { return s.Note(f.ctx, p) })
	on(func(p store.OperatorParams) (store.Job, error) {
		return s.Duplicate(f.ctx, p, store.Change{Queue: "copies"})
	})
	_, err = s.ArgsVersions(f.ctx, middle)
	check(err)
	_, err = s.Reveal(f.ctx, middle, "oncall")
	check(err)
	on(func(p store.OperatorParams) (store.Job, error) { return s.Terminate(f.ctx, p) })
	on(func(p store.OperatorParams) (store.Job, error) { return s.Erase(f.ctx, p) })
	on(func(p store.OperatorParams) (store.Job, error) {
		return s.RequeueWith(f.ctx, p, store.NewArgs{Args: json.RawMessage("1")})
	})
	on(func(p store.OperatorParams) (store.Job, error) { return s.Terminate(f.ctx, p) })
	step("audit", 1)
	for _, filter := range []store.AuditFilter{{}, {JobID: middle}, {Actor: "nobody"}, {Action: "erase", After: 1000}} {
		_, err = s.Audit(f.ctx, filter)
		check(err)
	}
}

// operations has an operation previewed, in both ways, carried out and read.
func (f *fixture) operations(s *store.Store, step func(name string, n int), check func(error)) {
	f.t.Helper()
	waiting := value[[]int64](f, "select array_agg(id) from (select id from fenceline.jobs where state = 'retryable' order by id limit 300) j")
	ticked := make([]store.Ticked, len(waiting))
	for i, id := range waiting {
		ticked[i] = store.Ticked{JobID: id, Revision: f.job(id).Revision}
	}
	step("preview", len(ticked))
	_, err := s.PreviewOperation(f.ctx, store.OperationRequest{Action: store.ActionTerminate, Actor: "oncall", Filter: store.Filter{Query: parsed("state:retryable older:1s")}})
	check(err)
	o, err := s.PreviewOperation(f.ctx, store.OperationRequest{Action: store.ActionRequeue, Actor: "oncall", Ticked: ticked})
	check(err)
	change := func() store.OperationParams {
		now, err := s.Operation(f.ctx, o.ID)
		check(err)
		return store.OperationParams{ID: o.ID, Seen: now.Revision, Actor: "oncall", Reason: "again", Rules: store.Rules{HaltAbove: 99}}
	}
	step("operation", 1)
	_, _, err = s.ConfirmOperation(f.ctx, change())
	check(err)
	pause := change()
	pause.Rules = store.Rules{}
	_, err = s.PauseOperation(f.ctx, pause)
	check(err)
	_, err = s.ResumeOperation(f.ctx, change())
	check(err)
	step("step", 250)
	if steps := f.carried(s); steps != 2 {
		f.t.Fatalf("%d steps for %d jobs", steps, len(ticked))
	}
	step("operation", 1)
	if o, err = s.Operation(f.ctx, o.ID); err != nil || o.State != store.OperationFinished || o.Done != int64(len(ticked)) {
		f.t.Fatalf("%+v %v", o, err)
	}
	_, _, err = s.Operations(f.ctx)
	check(err)
	_, err = s.OperationView(f.ctx, o.ID)
	check(err)
	_, err = s.OperationSkips(f.ctx, o.ID, 0, 100)
	check(err)
	_, err = s.ForgetOperations(f.ctx, time.Hour)
	check(err)
	step("audit", 1)
	_, err = s.Audit(f.ctx, store.AuditFilter{Operation: o.ID})
	check(err)
}
