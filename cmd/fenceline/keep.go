package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
)

// keep is how long something stays: a number of days as in 30d, a duration as
// Go writes it, or off for always. The zero value is for always, too.
type keep time.Duration

// UnmarshalText reads a flag.
func (k *keep) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "off" {
		*k = 0
		return nil
	}
	d, err := time.ParseDuration(s)
	if days, is := strings.CutSuffix(s, "d"); is {
		var n int
		if n, err = strconv.Atoi(days); n > maxKeepDays {
			n = maxKeepDays + 1
		}
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 || d > maxKeepDays*24*time.Hour {
		return errors.New("must be a number of days as in 30d, a duration as in 36h, at most 36500d, or off")
	}
	*k = keep(d)
	return nil
}

const maxKeepDays = 36500

// orNever is what a pool is told.
func (k keep) orNever() time.Duration {
	if k == 0 {
		return -1
	}
	return time.Duration(k)
}

func (k keep) check(flag string, least time.Duration) error {
	if k != 0 && time.Duration(k) < least {
		return usagef("%s: %s is too short: it must be at least %s, or off", flag, time.Duration(k), least)
	}
	return nil
}

// retention says how long what is done stays.
type retention struct {
	Jobs        keep `name:"keep-jobs" env:"FENCELINE_KEEP_JOBS" default:"30d" placeholder:"TIME" group:"Retention" help:"How long a finished job stays, as 30d or 12h: at least 1h, or off for always. Of several processes on a database, the shortest time holds."`
	Transitions keep `name:"keep-transitions" env:"FENCELINE_KEEP_TRANSITIONS" default:"30d" placeholder:"TIME" group:"Retention" help:"How long the log stays, in whole days: at least 1d, or off for always. A job that stays longer keeps its state and its last attempt."`
}

func (r retention) check() error {
	if err := r.Jobs.check("--keep-jobs", store.MinKeepJobs); err != nil {
		return err
	}
	return r.Transitions.check("--keep-transitions", store.MinKeepTransitions)
}

func (r retention) configure(c worker.Config) worker.Config {
	c.KeepJobs, c.KeepTransitions = r.Jobs.orNever(), r.Transitions.orNever()
	return c
}
