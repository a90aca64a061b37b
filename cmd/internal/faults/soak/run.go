package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/fenceline/fenceline/cmd/internal/faults"
)

// run plays the scenes in turn until the minutes are over: each of the special
// ones once, the storm as often as there is time. Each round has a seed of its
// own, one after the other.
func run(ctx context.Context) (bool, error) {
	program, err := os.Executable()
	if err != nil {
		return false, err
	}
	source, err := os.Getwd()
	if err != nil {
		return false, err
	}
	began := time.Now()
	report := faults.NewReport(ctx, source, cli.Seed)
	stage := &faults.Stage{Program: []string{program}, Log: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%7.0fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}}
	stage.Log("seed %d", cli.Seed)
	all := time.Duration(cli.Minutes * float64(time.Minute))
	for i, scene := range plan(source, all) {
		if len(cli.Scene) > 0 && !slices.Contains(cli.Scene, scene.Name) {
			continue
		}
		stage.Seed = cli.Seed + uint64(i)
		o, err := stage.Play(ctx, scene)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			stage.Log("%v", err)
			report.Failed(scene.Name, err)
		default:
			stage.Log("%s", o)
			report.Add(o)
		}
	}
	if err := report.Checks(ctx, stage.Log, cli.Histories, cli.Fuzz, cli.Minutes); err != nil {
		return false, err
	}
	report.Finish(time.Since(began))
	fmt.Print(report.Table())
	return report.OK(), report.Write(cli.JSON)
}

// longest is how long one rig is worked: its database and what is known of it
// stay small enough to be judged whole.
const longest = 75 * time.Second

// plan shares the time out: a tenth for each special scene, the rest for storms.
func plan(source string, all time.Duration) []faults.Scene {
	special := min(max(all/12, 10*time.Second), longest)
	short := goal(special)
	scenes := []faults.Scene{
		faults.Control(short), faults.DiskFull(short), faults.Failover(short), faults.ClockJump(short),
		faults.Pooler(short), faults.Upgrade(source, short),
	}
	left := max(all-time.Duration(len(scenes))*special, 10*time.Second)
	rounds := max(1, int((left+longest-1)/longest))
	for range rounds {
		scenes = append(scenes, faults.Storm(goal(left/time.Duration(rounds))))
	}
	return scenes
}

func goal(d time.Duration) faults.Goal { return faults.Goal{Least: d, Most: d + time.Minute} }
