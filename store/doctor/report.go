package doctor

import (
	"fmt"
	"time"
)

// Status is how a check ended.
type Status string

// How a check can end.
const (
	OK   Status = "ok"
	Warn Status = "warn" // works today; somebody should look
	Fail Status = "fail" // jobs can be lost, held up or refused
)

// Finding is the outcome of one check.
type Finding struct {
	Check  string `json:"check"`            // stable, for programs
	Status Status `json:"status"`           //
	Seen   string `json:"seen"`             // what was found, with its figures
	Advice string `json:"advice,omitempty"` // one sentence; empty when there is nothing to do
}

// Report is the outcome of every check, in the order in which they were made.
type Report struct {
	OK       bool      `json:"ok"` // no check failed
	Failed   int       `json:"failed"`
	Warned   int       `json:"warned"`
	Findings []Finding `json:"checks"`
}

func (r *Report) add(findings ...Finding) {
	for _, f := range findings {
		switch f.Status {
		case Fail:
			r.Failed++
		case Warn:
			r.Warned++
		}
		r.Findings = append(r.Findings, f)
	}
	r.OK = r.Failed == 0
}

func ok(check, seen string, args ...any) Finding {
	return Finding{Check: check, Status: OK, Seen: fmt.Sprintf(seen, args...)}
}

func warn(check, advice, seen string, args ...any) Finding {
	return Finding{Check: check, Status: Warn, Seen: fmt.Sprintf(seen, args...), Advice: advice}
}

func fail(check, advice, seen string, args ...any) Finding {
	return Finding{Check: check, Status: Fail, Seen: fmt.Sprintf(seen, args...), Advice: advice}
}

// graded is ok, or what the worse of two bounds says.
func graded[N int64 | float64 | time.Duration](check string, got, warnAt, failAt N, advice, seen string, args ...any) Finding {
	switch {
	case got >= failAt:
		return fail(check, advice, seen, args...)
	case got >= warnAt:
		return warn(check, advice, seen, args...)
	}
	return ok(check, seen, args...)
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, i := float64(n)/unit, 0
	for ; value >= unit && i < 4; i++ {
		value /= unit
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTP"[i])
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}
