package proof

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Report is what a run has seen.
type Report struct {
	Seed       uint64
	Histories  int
	Operations int
	Lost       int                      // operations whose answer was lost
	Together   int                      // operations that overlapped another one
	Answers    map[Verb]map[Verdict]int // how often each was given
	Took       time.Duration
	Failure    *History // the first history that is not as it must be; nil when all are
}

// Rate is how many histories were played and judged in a second.
func (r Report) Rate() float64 { return float64(r.Histories) / r.Took.Seconds() }

func (r *Report) add(h *History) {
	r.Histories++
	r.Operations += len(h.Events)
	if r.Answers == nil {
		r.Answers = map[Verb]map[Verdict]int{}
	}
	for _, e := range h.Events {
		if !e.Call.Alone {
			r.Together++
		}
		if e.Answer.Lost {
			r.Lost++
			continue
		}
		if r.Answers[e.Call.Verb] == nil {
			r.Answers[e.Call.Verb] = map[Verdict]int{}
		}
		r.Answers[e.Call.Verb][e.Answer.Verdict]++
	}
	if len(h.Broken) > 0 && r.Failure == nil {
		r.Failure = h
	}
}

// Length bounds a run: so many histories, or as many as begin within Time of
// this process's clock. A Time of zero is no bound.
type Length struct {
	Histories int
	Time      time.Duration
}

// Run plays the histories with numbers from first on, of one seed, on all
// stages at once, and stops at the first that fails. An error says that a
// stage failed, or that ctx ended.
func Run(ctx context.Context, stages []*Stage, seed, first uint64, length Length) (Report, error) {
	return run(ctx, stages, seed, length, func(n int) Script { return NewScript(seed, first+uint64(n)) })
}

// Repeat plays one script of a seed that often. Each time its calls meet in
// another way.
func Repeat(ctx context.Context, stages []*Stage, seed, index uint64, length Length) (Report, error) {
	return run(ctx, stages, seed, length, func(int) Script { return NewScript(seed, index) })
}

func run(ctx context.Context, stages []*Stage, seed uint64, length Length, script func(int) Script) (Report, error) {
	start := time.Now()
	report := Report{Seed: seed}
	var (
		next  atomic.Int64
		mu    sync.Mutex
		wg    sync.WaitGroup
		stop  atomic.Bool
		cause error
	)
	for _, stage := range stages {
		wg.Go(func() {
			for !stop.Load() && ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= length.Histories || length.Time > 0 && time.Since(start) > length.Time {
					return
				}
				s := script(n)
				h, err := stage.Play(ctx, s)
				mu.Lock()
				if err != nil && cause == nil {
					cause = fmt.Errorf("history %d of seed %d: %w", s.Index, s.Seed, err)
				}
				if err == nil {
					report.add(h)
				}
				stop.Store(cause != nil || report.Failure != nil)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	report.Took = time.Since(start)
	if cause == nil {
		cause = ctx.Err()
	}
	return report, cause
}
