package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Goal is how far a scene goes: until each count is reached and Least has
// passed, or Most has and there is something of everything to judge: a tenth of
// the faults and one of each other count. A machine that cannot do even that
// gets four times as long. What was not reached is in the outcome for all to
// see.
type Goal struct {
	Faults, Stale, Cuts, Feed int
	Least, Most               time.Duration
}

// Scene is a plan for one rig.
type Scene struct {
	Name   string
	Goal   Goal
	Faults []fault       // of the whole database
	Small  []fault       // of single processes and their connections
	Gap    time.Duration // between two faults of the whole database
	Once   []fault       // done in this order, spread over the scene, whatever the goal

	setting map[string]string
	env     []string
	mode    string // of the processes' queries; see rigConfig
	rewrite func(string) string
	place   func(dir string) (undo func() error, err error) // prepares the rig's directory
	around  func(ctx context.Context, r *Rig) error         // stands between server and processes
	lacking func(ctx context.Context) string                // why the scene cannot be played here; nil for always
}

// Outcome is what a scene came to.
type Outcome struct {
	Scene    string         `json:"scene"`
	Seed     uint64         `json:"seed"`
	Lacking  string         `json:"not_run,omitempty"` // why it was not played
	Faults   map[string]int `json:"faults,omitempty"`
	Total    int            `json:"faults_total"`
	Failed   map[string]int `json:"faults_not_done,omitempty"` // those that could not be done, not counted above
	Verdict  *verdict       `json:"verdict,omitempty"`
	Seconds  float64        `json:"seconds"`
	Drained  float64        `json:"drained_seconds"` // how long the rest of the work took, once nothing was broken any more
	Postgres string         `json:"postgres,omitempty"`
}

// Violations is how much of what must not be was found.
func (o *Outcome) Violations() int {
	if o.Verdict == nil {
		return 0
	}
	return o.Verdict.violations()
}

// Stage is where scenes are played.
type Stage struct {
	Program []string // this program and its arguments before a role is played
	Seed    uint64
	Log     func(format string, args ...any)
}

const (
	workers   = 3
	producers = 1
	operators = 1
)

// Play plays a scene. An error says that the scene itself failed, not that it
// found something.
func (s *Stage) Play(ctx context.Context, scene Scene) (_ *Outcome, err error) {
	o := &Outcome{Scene: scene.Name, Seed: s.Seed, Faults: map[string]int{}, Failed: map[string]int{}}
	if scene.lacking != nil {
		if o.Lacking = scene.lacking(ctx); o.Lacking != "" {
			return o, nil
		}
	}
	began := time.Now()
	dir, err := os.MkdirTemp("", "fenceline-faults-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err == nil && o.Violations() == 0 || scene.rewrite != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		} else {
			s.Log("%s: the logs are in %s", scene.Name, dir)
		}
	}()
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	if scene.place != nil {
		undo, err := scene.place(dir)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, undo()) }()
	}
	r, err := newRig(ctx, rigConfig{dir: dir, program: s.Program, rewrite: scene.rewrite, mode: scene.mode, settings: scene.setting, env: scene.env})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.ask(ctx, "select current_setting('server_version')", &o.Postgres); err != nil {
		return nil, err
	}
	if scene.around != nil {
		if err := scene.around(ctx, r); err != nil {
			return nil, err
		}
	}
	err = (&run{stage: s, scene: scene, rig: r, outcome: o}).play(ctx)
	o.Seconds = time.Since(began).Seconds()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", scene.Name, err)
	}
	return o, nil
}
