package web

import (
	"net/http"
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
