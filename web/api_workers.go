package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
)

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
