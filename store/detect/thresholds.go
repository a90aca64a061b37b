package detect

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Thresholds say from where on something is wrong.
type Thresholds struct {
	Expiries     int64                    // expiry-spike: leases within 5 minutes
	Refusals     int64                    // refused-writes: of a kind within 15 minutes
	Loops        int64                    // crash-loop: expiries of one job within an hour
	LateRenewals int64                    // lease-too-short: renewals in the last quarter of the lease, within 15 minutes
	LateShare    int64                    // and of 100 renewals
	Failures     int64                    // failure-rate: of a kind within 5 minutes
	FailedShare  int64                    // and of 100 attempts
	NewErrors    int64                    // new-error: failures with it
	Retries      int64                    // retry-storm: claims of tried jobs within 5 minutes
	RetryShare   int64                    // and of 100 claims
	Objective    time.Duration            // backlog: how long a due job may wait; 0 means for ever
	Objectives   map[string]time.Duration // the same for a queue that has its own
	StuckLeast   time.Duration            // stuck-job: no job is stuck before
	StuckTimes   int64                    // and not before so many times the mean of its kind
	StuckKnown   int64                    // and not before so many results of its kind are known
	LostWorkers  int64                    // lost-workers: within an hour
	Undelivered  int64                    // undelivered-notices: failed attempts since one arrived
	Behind       time.Duration            // counting-behind
	Quiet        time.Duration            // how long nothing may be found before an incident resolves itself
}

// Defaults are thresholds for a system that nobody has tuned.
func Defaults() Thresholds {
	return Thresholds{
		Expiries: 5, Refusals: 1, Loops: 3, LateRenewals: 10, LateShare: 20, Failures: 10, FailedShare: 20, NewErrors: 3,
		Retries: 50, RetryShare: 50, Objective: 5 * time.Minute, Objectives: map[string]time.Duration{},
		StuckLeast: 10 * time.Minute, StuckTimes: 10, StuckKnown: 5, LostWorkers: 1, Undelivered: 3, Behind: time.Minute, Quiet: 10 * time.Minute,
	}
}

// Names lists what [Thresholds.Set] can set.
var Names = []string{"expiries", "refusals", "loops", "late-renewals", "late-share", "failures", "failed-share", "new-errors", "retries", "retry-share",
	"objective", "stuck-least", "stuck-times", "stuck-known", "lost-workers", "undelivered", "behind", "quiet"}

// Set changes one threshold by its name, as in "expiries" and "20", or in
// "objective:mail" and "30s" for one queue's objective.
func (t *Thresholds) Set(name, value string) error {
	numbers := map[string]*int64{
		"expiries": &t.Expiries, "refusals": &t.Refusals, "loops": &t.Loops, "late-renewals": &t.LateRenewals, "late-share": &t.LateShare,
		"failures": &t.Failures, "failed-share": &t.FailedShare, "new-errors": &t.NewErrors, "retries": &t.Retries, "retry-share": &t.RetryShare,
		"stuck-times": &t.StuckTimes, "stuck-known": &t.StuckKnown, "lost-workers": &t.LostWorkers, "undelivered": &t.Undelivered,
	}
	spans := map[string]*time.Duration{"objective": &t.Objective, "stuck-least": &t.StuckLeast, "behind": &t.Behind, "quiet": &t.Quiet}
	if n := numbers[name]; n != nil {
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil || v < 1 || v > 1_000_000_000 {
			return fmt.Errorf("%s: %q must be a whole number from 1 to 1000000000", name, value)
		}
		*n = v
		return nil
	}
	queue, own := strings.CutPrefix(name, "objective:")
	if d := spans[name]; d != nil || own && queue != "" {
		v, err := time.ParseDuration(value)
		if err != nil || v < time.Second && !(v == 0 && strings.HasPrefix(name, "objective")) || v > 365*24*time.Hour {
			return fmt.Errorf("%s: %q must be a duration as in 30s or 5m, at least 1s", name, value)
		}
		if own {
			t.Objectives[queue] = v
			return nil
		}
		*d = v
		return nil
	}
	return fmt.Errorf("%q is not a threshold; they are %s, and objective:QUEUE", name, strings.Join(Names, ", "))
}
