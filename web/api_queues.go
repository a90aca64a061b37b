package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
)

func (s *Server) apiQueues(c echo.Context) error {
	q, err := query(c, "name", "kind")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	switch {
	case q.Has("name") && q.Has("kind"):
		return &store.InvalidError{Field: "kind", Message: "cannot be given together with name"}
	case q.Has("name"):
		v, err := s.cfg.Store.Queue(ctx, q.Get("name"))
		if err != nil {
			return sentAs("name", store.ScopeQueue, err)
		}
		return sendJSON(c, http.StatusOK, queueViewOf(v))
	case q.Has("kind"):
		v, err := s.cfg.Store.Kind(ctx, q.Get("kind"))
		if err != nil {
			return err
		}
		return sendJSON(c, http.StatusOK, kindViewOf(v))
	}
	v, err := s.cfg.Store.Queues(ctx)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, queuesOf(v))
}

func (s *Server) apiWorkers(c echo.Context) error {
	q, err := query(c, "id")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if q.Has("id") {
		v, err := s.cfg.Store.Worker(ctx, q.Get("id"))
		if err != nil {
			return sentAs("id", store.ScopeWorker, err)
		}
		return sendJSON(c, http.StatusOK, workerViewOf(v))
	}
	v, err := s.cfg.Store.Workers(ctx)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, workersOf(v))
}

func (s *Server) apiPause(c echo.Context) error  { return s.apiControl(c, store.ActionPause, false) }
func (s *Server) apiResume(c echo.Context) error { return s.apiControl(c, store.ActionResume, false) }
func (s *Server) apiLimit(c echo.Context) error  { return s.apiControl(c, store.ActionLimit, false) }
func (s *Server) apiDrain(c echo.Context) error  { return s.apiControl(c, store.ActionDrain, true) }
func (s *Server) apiUndrain(c echo.Context) error {
	return s.apiControl(c, store.ActionResume, true)
}

// apiControl is an operator's change of a control by a program. It names one
// queue, one kind, everything or one worker, and says which revision it looked
// at.
func (s *Server) apiControl(c echo.Context, action store.Action, ofWorker bool) error {
	ch := change{action: action, params: store.ControlParams{Actor: s.actor(c)}}
	var queue, kind, worker, length, per string
	var all bool
	f := fields{"reason": text(&ch.params.Reason), "seen": object(fields{"revision": revision(&ch.params.Seen)})}
	if ofWorker {
		f["id"] = text(&worker)
	} else {
		f["queue"], f["kind"], f["all"] = text(&queue), text(&kind), truth(&all)
	}
	switch action {
	case store.ActionPause:
		f["for"], f["until"] = text(&length), instant(&ch.end.Until)
	case store.ActionLimit:
		delete(f, "all")
		f["concurrency"] = integer(&ch.limits.Concurrency, 1, store.MaxConcurrency)
		f["rate"], f["per"] = integer(&ch.limits.Rate.N, 1, store.MaxRate), text(&per)
	}
	err := readJSON(c, f)
	if err != nil {
		return err
	}
	if ch.end.For, err = span("for", length); err != nil {
		return err
	}
	if ch.limits.Rate.Per, err = span("per", per); err != nil {
		return err
	}
	if err := ch.aim(queue, kind, worker, all, ofWorker); err != nil {
		return err
	}
	if err := s.mayChange(c, ch); err != nil {
		return err
	}
	ctx := c.Request().Context()
	set, err := s.apply(ctx, ch)
	if err != nil {
		return sentAs("id", store.ScopeWorker, err)
	}
	now, err := s.clock.now(ctx)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, controlOf(set, now))
}

// sentAs names the field that a client sent where the store names the scope.
func sentAs(field string, scope store.Scope, err error) error {
	var invalid *store.InvalidError
	if errors.As(err, &invalid) && invalid.Field == string(scope) {
		return &store.InvalidError{Field: field, Message: invalid.Message}
	}
	return err
}

// aim reads what a change is about.
func (ch *change) aim(queue, kind, worker string, all, ofWorker bool) error {
	p, named := &ch.params, 0
	for _, of := range []struct {
		scope store.Scope
		name  string
		given bool
	}{{store.ScopeQueue, queue, queue != ""}, {store.ScopeKind, kind, kind != ""}, {store.ScopeAll, "", all}} {
		if of.given {
			p.Scope, p.Name, named = of.scope, of.name, named+1
		}
	}
	switch {
	case ofWorker && worker == "":
		return &store.InvalidError{Field: "id", Message: "is required: the worker's id"}
	case ofWorker:
		p.Scope, p.Name = store.ScopeWorker, worker
	case named == 0:
		return &store.InvalidError{Field: "queue", Message: "is required, or kind, or all"}
	case named > 1:
		return &store.InvalidError{Field: "queue", Message: "cannot be given together with kind or all: one change is about one thing"}
	}
	return nil
}

// revision reads the revision of a control, as a number or as a string of
// digits; 0 where nothing was set yet.
func revision(into **int64) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		n, err := seenControl(unquoted(raw))
		if err != nil {
			return &store.InvalidError{Field: name, Message: "must be a whole number from 0, or a string of its digits"}
		}
		*into = n
		return nil
	}
}

func unquoted(raw json.RawMessage) string {
	if n := len(raw); n > 2 && raw[0] == '"' && raw[n-1] == '"' {
		return string(raw[1 : n-1])
	}
	return string(raw)
}

func truth(into *bool) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		switch string(raw) {
		case "true":
			*into = true
		case "false":
		default:
			return &store.InvalidError{Field: name, Message: "must be true or false"}
		}
		return nil
	}
}

// What the API shows of them.

type controlJSON struct {
	Scope       string     `json:"scope"`
	Name        string     `json:"name"`
	Revision    int64      `json:"revision"`
	Paused      bool       `json:"paused"`
	Pause       *pauseJSON `json:"pause"` // the last one, ended or not, until somebody resumes
	Concurrency *int64     `json:"concurrency"`
	Rate        *int64     `json:"rate"`
	Per         *string    `json:"per"`
}

type pauseJSON struct {
	At     string  `json:"at"`
	Until  *string `json:"until"`
	By     string  `json:"by"`
	Reason string  `json:"reason"`
}

func controlOf(c store.Control, now time.Time) controlJSON {
	out := controlJSON{
		Scope: string(c.Scope), Name: c.Name, Revision: c.Revision, Paused: c.PausedAt(now),
		Concurrency: orNullNumber(int64(c.Limits.Concurrency)), Rate: orNullNumber(int64(c.Limits.Rate.N)), Per: orNullSpan(c.Limits.Rate.Per),
	}
	if !c.Pause.At.IsZero() {
		out.Pause = &pauseJSON{At: instantText(c.Pause.At), Until: orNullTime(c.Pause.Until), By: c.Pause.By, Reason: c.Pause.Reason}
	}
	return out
}

func orNullSpan(d time.Duration) *string {
	if d == 0 {
		return nil
	}
	return orNull(d.String())
}

type countJSON struct {
	Count  int64 `json:"count"`
	Capped bool  `json:"capped"` // there are more than count
}

type recentJSON struct {
	Claimed            int64    `json:"claimed"`
	Completed          int64    `json:"completed"`
	Failed             int64    `json:"failed"`
	Expired            int64    `json:"expired"`
	Refused            int64    `json:"refused"`
	CompletedPerMinute float64  `json:"completed_per_minute"`
	StartP50           *float64 `json:"start_p50_seconds"`
	StartP95           *float64 `json:"start_p95_seconds"`
	Starts             int64    `json:"starts"`
}

func recentOf(r store.Recent, since, now time.Time) recentJSON {
	out := recentJSON{
		Claimed: r.Claimed, Completed: r.Completed, Failed: r.Failed, Expired: r.Expired, Refused: r.Refused,
		CompletedPerMinute: r.PerMinute(since, now), Starts: r.Starts,
	}
	if r.Starts > 0 {
		half, most := r.Start50.Seconds(), r.Start95.Seconds()
		out.StartP50, out.StartP95 = &half, &most
	}
	return out
}

type queueJSON struct {
	Name        string      `json:"name"`
	Control     controlJSON `json:"control"`
	Waiting     countJSON   `json:"waiting"`
	OldestSince *string     `json:"oldest_since"`
	Later       int64       `json:"later"`
	Running     int64       `json:"running"`
	Draining    bool        `json:"draining"` // paused while jobs of it run
	Workers     int         `json:"workers"`
	Slots       int         `json:"slots"`
	Recent      recentJSON  `json:"recent"`
}

func queueOf(q store.Queue, since, now time.Time) queueJSON {
	return queueJSON{
		Name: q.Name, Control: controlOf(q.Control, now), Waiting: countJSON{q.Waiting.N, q.Waiting.Capped},
		OldestSince: orNullTime(q.Oldest), Later: q.Later, Running: q.Running, Draining: q.Control.PausedAt(now) && q.Running > 0,
		Workers: q.Workers, Slots: q.Slots, Recent: recentOf(q.Recent, since, now),
	}
}

type kindJSON struct {
	Name           string      `json:"name"`
	Control        controlJSON `json:"control"`
	WaitingInFront int64       `json:"waiting_in_front"`
	Running        int64       `json:"running"`
	Workers        int         `json:"workers"`
	Recent         recentJSON  `json:"recent"`
}

func kindOf(k store.Kind, since, now time.Time) kindJSON {
	return kindJSON{Name: k.Name, Control: controlOf(k.Control, now), WaitingInFront: k.Waiting, Running: k.Running, Workers: k.Workers,
		Recent: recentOf(k.Recent, since, now)}
}

type unhandledJSON struct {
	Queue       string `json:"queue"`
	Kind        string `json:"kind"`
	Jobs        int64  `json:"jobs"`
	OldestSince string `json:"oldest_since"`
	Why         string `json:"why"` // no_queue, no_kind or drained
}

func unhandledOf(all []store.Unhandled) []unhandledJSON {
	out := []unhandledJSON{}
	for _, u := range all {
		why := "no_kind"
		switch {
		case u.NoQueue:
			why = "no_queue"
		case u.Draining:
			why = "drained"
		}
		out = append(out, unhandledJSON{u.Queue, u.Kind, u.Jobs, instantText(u.Oldest), why})
	}
	return out
}

type queuesJSON struct {
	Now       string          `json:"now"`
	Since     string          `json:"since"` // how far back the recent figures reach
	Cut       bool            `json:"cut"`   // less far than asked for, because the log is busy
	All       controlJSON     `json:"all"`
	Queues    []queueJSON     `json:"queues"`
	Kinds     []kindJSON      `json:"kinds"`
	More      bool            `json:"more"`
	Unhandled []unhandledJSON `json:"unhandled"`
}

func queuesOf(v store.Queues) queuesJSON {
	out := queuesJSON{Now: instantText(v.Now), Since: instantText(v.Since), Cut: v.Cut, All: controlOf(v.All, v.Now), More: v.More,
		Queues: []queueJSON{}, Kinds: kindsOf(v.Kinds, v.Since, v.Now), Unhandled: unhandledOf(v.Unhandled)}
	for _, q := range v.Queues {
		out.Queues = append(out.Queues, queueOf(q, v.Since, v.Now))
	}
	return out
}

func kindsOf(all []store.Kind, since, now time.Time) []kindJSON {
	out := []kindJSON{}
	for _, k := range all {
		out = append(out, kindOf(k, since, now))
	}
	return out
}

type changeJSON struct {
	At          string  `json:"at"`
	Actor       string  `json:"actor"`
	Action      string  `json:"action"`
	Outcome     string  `json:"outcome"`
	Reason      string  `json:"reason"`
	Until       *string `json:"until"`
	Concurrency *int64  `json:"concurrency"`
	Rate        *int64  `json:"rate"`
	Per         *string `json:"per"`
}

func changesOf(all []store.ControlChange) []changeJSON {
	out := []changeJSON{}
	for _, c := range all {
		out = append(out, changeJSON{instantText(c.At), c.Actor, string(c.Action), c.Outcome, c.Reason, orNullTime(c.Until),
			orNullNumber(int64(c.Limits.Concurrency)), orNullNumber(int64(c.Limits.Rate.N)), orNullSpan(c.Limits.Rate.Per)})
	}
	return out
}

type queueViewJSON struct {
	Now       string          `json:"now"`
	Since     string          `json:"since"`
	Cut       bool            `json:"cut"`
	All       controlJSON     `json:"all"`
	Known     bool            `json:"known"`
	Queue     queueJSON       `json:"queue"`
	Kinds     []kindJSON      `json:"kinds"`
	Workers   []workerJSON    `json:"workers"`
	Running   []jobJSON       `json:"running"`
	Next      []jobJSON       `json:"next"`
	Unhandled []unhandledJSON `json:"unhandled"`
	Changes   []changeJSON    `json:"changes"`
}

func queueViewOf(v store.QueueView) queueViewJSON {
	return queueViewJSON{Now: instantText(v.Now), Since: instantText(v.Since), Cut: v.Cut, All: controlOf(v.All, v.Now), Known: v.Known,
		Queue: queueOf(v.Queue, v.Since, v.Now), Kinds: kindsOf(v.Kinds, v.Since, v.Now), Workers: workerList(v.Workers, v.Now),
		Running: jobsOf(v.Holding), Next: jobsOf(v.Next), Unhandled: unhandledOf(v.Unhandled), Changes: changesOf(v.Changes)}
}

type kindViewJSON struct {
	Now       string          `json:"now"`
	Since     string          `json:"since"`
	Cut       bool            `json:"cut"`
	All       controlJSON     `json:"all"`
	Known     bool            `json:"known"`
	Kind      kindJSON        `json:"kind"`
	Workers   []workerJSON    `json:"workers"`
	Unhandled []unhandledJSON `json:"unhandled"`
	Changes   []changeJSON    `json:"changes"`
}

func kindViewOf(v store.KindView) kindViewJSON {
	return kindViewJSON{Now: instantText(v.Now), Since: instantText(v.Since), Cut: v.Cut, All: controlOf(v.All, v.Now), Known: v.Known,
		Kind: kindOf(v.Kind, v.Since, v.Now), Workers: workerList(v.Workers, v.Now), Unhandled: unhandledOf(v.Unhandled), Changes: changesOf(v.Changes)}
}

type workerJSON struct {
	ID         string         `json:"id"`
	Status     string         `json:"status"`
	Control    controlJSON    `json:"control"`
	Host       string         `json:"host"`
	PID        int            `json:"pid"`
	Program    string         `json:"program"`
	Version    string         `json:"version"`
	Queues     map[string]int `json:"queues"` // places by name
	Kinds      []string       `json:"kinds"`
	StartedAt  string         `json:"started_at"`
	SeenAt     string         `json:"seen_at"`
	StoppedAt  *string        `json:"stopped_at"`
	StoppedHow *string        `json:"stopped_how"`
	Held       int64          `json:"held"`
	Claimed    int64          `json:"claimed"`
	Completed  int64          `json:"completed"`
	Failed     int64          `json:"failed"`
	Released   int64          `json:"released"`
	Refused    int64          `json:"refused"`
	Lost       int64          `json:"lost"`
}

func workerOf(w store.Worker, now time.Time) workerJSON {
	kinds := []string{}
	for name := range w.Kinds {
		kinds = append(kinds, name)
	}
	slices.Sort(kinds)
	n := w.Counts
	return workerJSON{ID: w.ID, Status: string(w.Status), Control: controlOf(w.Control, now), Host: w.Host, PID: w.PID, Program: w.Program, Version: w.Version,
		Queues: w.Queues, Kinds: kinds, StartedAt: instantText(w.StartedAt), SeenAt: instantText(w.SeenAt), StoppedAt: orNullTime(w.StoppedAt),
		StoppedHow: orNull(w.StoppedHow), Held: w.Held,
		Claimed: n.Claimed, Completed: n.Completed, Failed: n.Failed, Released: n.Released, Refused: n.Refused, Lost: n.Lost}
}

func workerList(all []store.Worker, now time.Time) []workerJSON {
	out := []workerJSON{}
	for _, w := range all {
		out = append(out, workerOf(w, now))
	}
	return out
}

type holderJSON struct {
	ID   string `json:"id"`
	Held int64  `json:"held"`
}

type workersJSON struct {
	Now     string       `json:"now"`
	Workers []workerJSON `json:"workers"`
	More    bool         `json:"more"`
	Strange []holderJSON `json:"strange"` // running jobs whose worker is on no list
}

func workersOf(v store.Workers) workersJSON {
	out := workersJSON{Now: instantText(v.Now), Workers: workerList(v.Workers, v.Now), More: v.More, Strange: []holderJSON{}}
	for _, h := range v.Strange {
		out.Strange = append(out.Strange, holderJSON(h))
	}
	return out
}

type workerViewJSON struct {
	Now     string           `json:"now"`
	Known   bool             `json:"known"` // it is on the list; else only jobs and transitions tell of it
	Worker  *workerJSON      `json:"worker"`
	Holding []jobJSON        `json:"holding"`
	Lost    []transitionJSON `json:"lost"`
	Recent  []transitionJSON `json:"recent"`
	Changes []changeJSON     `json:"changes"`
}

func workerViewOf(v store.WorkerView) workerViewJSON {
	out := workerViewJSON{Now: instantText(v.Now), Known: v.Known, Holding: jobsOf(v.Holding), Lost: []transitionJSON{}, Recent: []transitionJSON{}, Changes: changesOf(v.Changes)}
	if v.Known {
		w := workerOf(v.Worker, v.Now)
		out.Worker = &w
	}
	for _, t := range v.Lost {
		out.Lost = append(out.Lost, transitionOf(t))
	}
	for _, t := range v.Recent {
		out.Recent = append(out.Recent, transitionOf(t))
	}
	return out
}

func jobsOf(all []store.Job) []jobJSON {
	out := make([]jobJSON, len(all))
	for i, j := range all {
		out[i] = jobOf(j)
	}
	return out
}
