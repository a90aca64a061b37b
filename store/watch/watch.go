// Package watch looks after a database while jobs run: it keeps the counts of
// the log that pages and rules read, the incidents that rules find, and who is
// told of them. Any number of processes may do so; one at a time works, and
// another goes on where it was stopped.
package watch

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
	"github.com/fenceline/fenceline/store/notice"
)

// Config says what is watched and how. The zero durations mean their defaults.
type Config struct {
	Store *store.Store       // required
	Log   *slog.Logger       // nil: nothing is logged
	Every time.Duration      // between two looks at the log, give or take a tenth; 2 s
	Rules *detect.Thresholds // from where on something is wrong; nil: rules are not judged
	Keep  time.Duration      // for how long counts stay; negative: always

	Notices []notice.Rule // who is told of incidents
	Console string        // where people reach the console, for links in notices; empty: without links
}

const forgetEvery = time.Minute

const mostVerified = 20 // steps of checking the log in one look

const mostTold = 50 // messages to one target in one look

// Run watches until ctx ends. What fails is logged once and tried again.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Every <= 0 {
		cfg.Every = 2 * time.Second
	}
	w := &watch{Config: cfg}
	for {
		w.look(ctx)
		if !pause(ctx, cfg.Every-rand.N(cfg.Every/10+1)) {
			return nil
		}
	}
}

type watch struct {
	Config
	failing map[string]bool
	forgot  time.Time
}

func (w *watch) look(ctx context.Context) {
	for more := true; more; {
		rolled, err := w.Store.Roll(ctx)
		w.told(ctx, "count the log", err)
		more = err == nil && rolled.More
	}
	_, err := w.Store.SampleQueues(ctx)
	w.told(ctx, "write down what stands in the queues", err)
	w.told(ctx, "check the log", w.verify(ctx))
	if w.Rules != nil {
		w.told(ctx, "look for what is wrong", w.judge(ctx))
	}
	for _, r := range w.Notices {
		w.told(ctx, "tell "+r.Target+" of incidents", w.tell(ctx, r))
	}
	if w.Keep >= 0 && time.Since(w.forgot) >= forgetEvery {
		w.forgot = time.Now()
		for more := true; more; {
			var err error
			more, err = w.Store.ForgetRollups(ctx, max(w.Keep, store.MinKeepTransitions))
			w.told(ctx, "forget old counts", err)
		}
	}
}

// verify checks what is new in the log. After a long pause that may be much: it
// goes on at the next look, so that the rules have theirs, and rests as long as a
// step took, so that the server has every other moment for the jobs.
func (w *watch) verify(ctx context.Context) error {
	for range mostVerified {
		begun := time.Now()
		did, err := w.Store.VerifyNext(ctx)
		for _, v := range did.Found {
			w.Log.Error("the log holds what no correct one can", "invariant", v.Invariant, "job", v.JobID, "transition", v.Transition)
		}
		if err != nil || !did.More || !pause(ctx, time.Since(begun)) {
			return err
		}
	}
	return nil
}

// judge has the rules look, when no other process did of late.
func (w *watch) judge(ctx context.Context) error {
	if mine, err := w.Store.WatchTurn(ctx, w.Every*4/5); err != nil || !mine {
		return err
	}
	facts, err := w.Store.Facts(ctx)
	if err != nil {
		return err
	}
	var found []store.Sighting
	for _, f := range detect.Judge(facts, *w.Rules) {
		found = append(found, f.Sighting())
	}
	did, err := w.Store.Watch(ctx, found, w.Rules.Quiet)
	for _, i := range did.Opened {
		w.Log.Warn("incident opened", "incident", i.ID, "rule", i.Rule, "scope", i.Scope, "severity", i.Severity)
	}
	for _, i := range did.Reopened {
		w.Log.Warn("incident reopened", "incident", i.ID, "rule", i.Rule, "scope", i.Scope, "severity", i.Severity)
	}
	for _, i := range did.Resolved {
		w.Log.Info("incident resolved after quiet", "incident", i.ID, "rule", i.Rule, "scope", i.Scope)
	}
	return err
}

// tell has one target told. What knows no pace is told at once, one incident
// after the other; quiet hours go by this process's clock.
func (w *watch) tell(ctx context.Context, r notice.Rule) error {
	for range mostTold {
		job, err := w.Store.Tell(ctx, r.At(time.Now(), w.Console))
		if err != nil || job == 0 {
			return err
		}
		w.Log.Info("a target is told of incidents", "target", r.Target, "job", job)
		if r.Every > 0 {
			return nil
		}
	}
	return nil
}

// told logs a failure when it begins, and its end.
func (w *watch) told(ctx context.Context, what string, err error) {
	if ctx.Err() != nil || w.failing[what] == (err != nil) {
		return
	}
	if w.failing == nil {
		w.failing = map[string]bool{}
	}
	w.failing[what] = err != nil
	if err != nil {
		w.Log.Warn("could not "+what, "error", err)
		return
	}
	w.Log.Info("could " + what + " again")
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
