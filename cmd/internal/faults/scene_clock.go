package faults

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// ClockJump sets the database's clock an hour forward and back while leases
// run. The server runs under libfaketime; nobody else's clock is touched.
func ClockJump(goal Goal) Scene {
	c := &falseClock{}
	s := Scene{
		Name: "database clock", Goal: goal, Gap: 2 * time.Second, Small: ofProcesses, Faults: ofServer[:2],
		lacking: func(context.Context) string {
			if c.library() == "" {
				return "libfaketime is not installed"
			}
			return ""
		},
		Once: []fault{
			c.jump("database clock an hour forward", "+1h"), c.jump("database clock an hour back", "+0"),
			c.jump("database clock an hour forward", "+1h"), c.jump("database clock an hour back", "+0"),
			// What waits for a time that was an hour ahead must not hold the end up.
			c.jump("database clock an hour forward", "+3h"),
		},
		place: c.place,
	}
	s.env = c.env()
	return s
}

type falseClock struct{ file string }

func (c *falseClock) library() string {
	for _, pattern := range []string{"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1", "/usr/local/lib/faketime/libfaketime.so.1"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// env names the file that holds the offset; where it is, is known before the
// rig's directory is.
func (c *falseClock) env() []string {
	c.file = filepath.Join(os.TempDir(), "fenceline-faults-clock-"+randomName())
	return []string{"LD_PRELOAD=" + c.library(), "FAKETIME_TIMESTAMP_FILE=" + c.file, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DISABLE_SHM=1"}
}

func (c *falseClock) place(string) (func() error, error) {
	return func() error { return os.Remove(c.file) }, c.set("+0")
}

// set replaces the file, so that nobody reads half of it.
func (c *falseClock) set(offset string) error {
	if err := os.WriteFile(c.file+".new", []byte(offset+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(c.file+".new", c.file)
}

func (c *falseClock) jump(name, offset string) fault {
	return fault{name: name, server: true, do: func(ctx context.Context, r *Rig, _ *rand.Rand) error {
		var before, after time.Time
		if err := r.ask(ctx, "select clock_timestamp()", &before); err != nil {
			return err
		}
		if err := c.set(offset); err != nil {
			return err
		}
		return await(ctx, "the clock has jumped", func() (bool, error) {
			err := r.ask(ctx, "select clock_timestamp()", &after)
			d := after.Sub(before).Abs()
			return err == nil && d > 50*time.Minute, err
		})
	}}
}
