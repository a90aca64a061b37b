package proof

import (
	"context"
	"slices"
	"strings"
	"time"
)

// replays is how often a shorter script is played before it counts as sound:
// what fails by an interleaving does not fail each time.
const replays = 40

// Shrink looks for the shortest script that still fails in the way that h does
// first, by leaving steps out of a failing history's script and playing what is
// left: what is broken otherwise is another counterexample. It gives up when no
// step can be spared or the time is over, and returns the shortest history that
// failed, which is h itself where h does not happen again.
func (s *Stage) Shrink(ctx context.Context, h *History, within time.Duration) (*History, error) {
	deadline := time.Now().Add(within)
	way := h.ways()[0]
	for again := true; again; {
		again = false
		for _, shorter := range h.Script.shorter() {
			if time.Now().After(deadline) {
				return h, nil
			}
			found, err := s.fails(ctx, shorter, way, deadline)
			if err != nil {
				return h, err
			}
			if found != nil {
				h, again = found, true
				break
			}
		}
	}
	return h, nil
}

// fails plays a script until it fails in that way, and returns nil where it
// does not.
func (s *Stage) fails(ctx context.Context, script Script, way string, deadline time.Time) (*History, error) {
	for range replays {
		h, err := s.Play(ctx, script)
		if err != nil {
			return nil, err
		}
		if slices.Contains(h.ways(), way) {
			return h, nil
		}
		if time.Now().After(deadline) {
			break
		}
	}
	return nil, nil
}

// ways tells in which ways a history fails, without what differs from one time
// to the next.
func (h *History) ways() []string {
	ways := make([]string, len(h.Broken))
	for i, broken := range h.Broken {
		ways[i], _, _ = strings.Cut(broken, ":")
	}
	return ways
}

// shorter returns scripts that are this one with something left out, the
// largest parts first. It comes to an end: each has less in it than this one.
func (s Script) shorter() []Script {
	var out []Script
	add := func(client, from, to int) {
		t := s
		t.Clients = slices.Clone(s.Clients)
		t.Clients[client] = slices.Delete(slices.Clone(s.Clients[client]), from, to)
		out = append(out, t)
	}
	if s.Copies > 1 || s.Request.Later {
		t := s
		t.Copies, t.Request.Later = 1, false
		out = append(out, t)
	}
	for client, steps := range s.Clients {
		if len(steps) > 1 {
			add(client, 0, len(steps))
		}
	}
	for client, steps := range s.Clients {
		if n := len(steps); n > 3 {
			add(client, 0, n/2)
			add(client, n/2, n)
		}
	}
	for client, steps := range s.Clients {
		for i := range steps {
			add(client, i, i+1)
		}
	}
	return append(out, s.plainer()...)
}

// plainer returns scripts with the same steps, one of which does less.
func (s Script) plainer() []Script {
	var out []Script
	for client, steps := range s.Clients {
		for i, step := range steps {
			plain := step
			plain.Fresh, plain.Cut, plain.Call.FollowUps = false, 0, 0
			if plain == step {
				continue
			}
			t := s
			t.Clients = slices.Clone(s.Clients)
			t.Clients[client] = slices.Clone(steps)
			t.Clients[client][i] = plain
			out = append(out, t)
		}
	}
	return out
}
