package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"
)

// verdict is what became of a completion that came late.
type verdict struct {
	Accepted bool   `json:"accepted"`
	What     string `json:"what"`
}

// late plays one scene with each system: worker A takes a job and is paused;
// the system believes it dead and gives the job to B; while B works, A comes
// back and completes. It prints whose system takes A's word.
func late(ctx context.Context, s *server, node *peers) error {
	scenes := []struct {
		name, how string
		on        *contestant
		play      func(ctx context.Context, url string) (verdict, error)
	}{
		{"Fenceline", "lease of 200 ms ran out, swept", fenceline("", 0, 0), lateFenceline},
		{"River", "rescued as stuck after 1 s", riverQueue("", riverTuning{workers: 10}, 0), lateRiver},
		{"gue", "A's connection was lost", gueQueue("", 1, 0), lateGue},
		{"asynq", "A's process was stopped past its lease", nil, lateAsynq},
	}
	if node != nil {
		byScript := func(name, script string, more map[string]any) (*contestant, func(context.Context, string) (verdict, error)) {
			return node.contestant(name, script, "", 0, nil), func(ctx context.Context, url string) (v verdict, err error) {
				params := map[string]any{"url": url}
				for k, value := range more {
					params[k] = value
				}
				err = node.call(ctx, script, "late", params, &v)
				return v, err
			}
		}
		for _, peer := range []struct {
			name, script, how string
			more              map[string]any
		}{
			{"graphile-worker", "graphile.mjs", "unlocked by an operator", nil},
			{"pg-boss, by id", "pgboss.mjs", "expired after 1 s, supervised", nil},
			{"pg-boss, as fetched", "pgboss.mjs", "expired after 1 s, supervised", map[string]any{"whole": true}},
		} {
			c, play := byScript(peer.name, peer.script, peer.more)
			scenes = append(scenes, struct {
				name, how string
				on        *contestant
				play      func(context.Context, string) (verdict, error)
			}{peer.name, peer.how, c, play})
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "system\tversion\ttaken over because\tA's late completion\t")
	var failed error
	for _, scene := range scenes {
		fmt.Fprintf(os.Stderr, "%s …\n", scene.name)
		v, err := s.scene(ctx, scene.on, scene.play)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", scene.name, err))
			continue
		}
		word := "refused"
		if v.Accepted {
			word = "ACCEPTED"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", scene.name, versionOf(scene.name, node), scene.how, word, v.What)
	}
	return errors.Join(failed, table.Flush())
}

func (s *server) scene(ctx context.Context, on *contestant, play func(context.Context, string) (verdict, error)) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	if on == nil {
		return play(ctx, "")
	}
	name, err := s.database(ctx, on)
	if err != nil {
		return verdict{}, err
	}
	v, err := play(ctx, s.url(name))
	if dropErr := s.drop(name); err == nil {
		err = dropErr
	}
	return v, err
}
