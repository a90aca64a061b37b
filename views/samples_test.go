package views

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/google/uuid"
)

// play writes a job's transitions as the store would, so that tests lay out
// and tell histories that can happen. Times are offsets from its start.
type play struct {
	start    time.Time
	now      time.Time
	job      store.Job
	log      []store.Transition
	fails    []store.AttemptFailure
	versions []store.ArgsVersion
	lease    time.Duration
	ids      map[int64]uuid.UUID
}

func newPlay() *play {
	start := time.Date(2026, 11, 3, 14, 1, 58, 911e6, time.UTC)
	p := &play{start: start, now: start, lease: 30 * time.Second, ids: map[int64]uuid.UUID{}}
	p.job = store.Job{ID: 70412, Kind: "report", Queue: "reports", Key: "monthly-report/2026-11/acme",
		State: store.Available, Revision: 1, MaxAttempts: 5, CreatedAt: start, RunAt: start, EnqueuedBy: "billing", ArgsBytes: 412, ArgsVersion: 1}
	p.add(store.Transition{Type: store.TypeEnqueued, To: store.Available, Actor: "billing"})
	return p
}

// at moves the clock to an offset from the start.
func (p *play) at(d time.Duration) *play {
	p.now = p.start.Add(d)
	return p
}

func (p *play) add(t store.Transition) {
	t.ID, t.XID, t.JobID, t.At = int64(1000+len(p.log)), uint64(5000+len(p.log)), p.job.ID, p.now
	t.Kind, t.Queue = p.job.Kind, p.job.Queue
	t.Attempts, t.MaxAttempts = p.job.Attempts, p.job.MaxAttempts
	if t.Type != store.TypeRenewed && t.Type != store.TypeRejected {
		t.Revision = p.job.Revision
	}
	p.log = append(p.log, t)
}

// change records an accepted change and moves the row with it.
func (p *play) change(t store.Transition) {
	t.From = p.job.State
	p.job.Revision++
	p.job.State = t.To
	p.job.FinishedAt = time.Time{}
	if t.To.Terminal() {
		p.job.FinishedAt = p.now
	}
	p.add(t)
}

func (p *play) claim(worker string) *play {
	p.job.Generation++
	p.job.Attempts++
	id := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%d", p.job.Generation))
	p.ids[p.job.Generation] = id
	p.job.AttemptID, p.job.AttemptEnd, p.job.Worker = id, "", worker
	p.job.ClaimedAt, p.job.LeaseUntil = p.now, p.now.Add(p.lease)
	p.change(store.Transition{Type: store.TypeClaimed, To: store.Running, AttemptID: id, Generation: p.job.Generation, Worker: worker,
		LeaseUntil: p.job.LeaseUntil, Detail: store.Detail{LeaseMS: p.lease.Milliseconds()}})
	return p
}

func (p *play) renew() *play {
	p.job.LeaseUntil = p.now.Add(p.lease)
	p.add(store.Transition{Type: store.TypeRenewed, AttemptID: p.job.AttemptID, Generation: p.job.Generation, Worker: p.job.Worker, LeaseUntil: p.job.LeaseUntil})
	return p
}

func (p *play) end(t store.Type, end store.End, to store.State, reason string) *play {
	p.job.AttemptEnd = end
	p.change(store.Transition{Type: t, To: to, AttemptID: p.job.AttemptID, Generation: p.job.Generation, Worker: p.job.Worker,
		Reason: reason, RunAt: p.job.RunAt})
	return p
}

func (p *play) expire(to store.State, reason string) *play {
	p.end(store.TypeExpired, store.EndExpired, to, reason)
	p.log[len(p.log)-1].Actor = "sweeper"
	return p
}

func (p *play) fail(to store.State, reason, class, message string) *play {
	p.fails = append(p.fails, store.AttemptFailure{AttemptError: store.AttemptError{Class: class, Message: message, Trace: "main.go:12\nreport.go:40"},
		AttemptID: p.job.AttemptID, Generation: p.job.Generation, At: p.now, Fingerprint: "1:" + class})
	return p.end(store.TypeFailed, store.EndFailed, to, reason)
}

func (p *play) complete() *play {
	p.job.ResultAttemptID, p.job.ResultGeneration, p.job.ResultBytes = p.job.AttemptID, p.job.Generation, 88
	return p.end(store.TypeCompleted, store.EndCompleted, store.Completed, "")
}

func (p *play) release() *play {
	return p.end(store.TypeReleased, store.EndReleased, store.Available, "")
}

func (p *play) due(after time.Duration) *play {
	p.job.RunAt = p.now.Add(after)
	return p
}

func (p *play) reject(generation int64, op store.Op, reason store.Reason) *play {
	p.add(store.Transition{Type: store.TypeRejected, Op: op, Reason: string(reason), AttemptID: p.ids[generation], Generation: generation,
		Worker: "worker-of-" + decimal(generation), Detail: store.Detail{Current: p.job.Generation}})
	return p
}

func (p *play) operator(t store.Type, to store.State, reason string) *play {
	if p.job.State == store.Running {
		p.job.AttemptEnd = store.EndRequeued
	}
	p.change(store.Transition{Type: t, To: to, Actor: "local", Reason: reason, AttemptID: p.job.AttemptID, Generation: p.job.Generation})
	return p
}

func (p *play) requeue(reason string) *play {
	return p.operator(store.TypeRequeued, store.Available, reason)
}

func (p *play) terminate(reason string) *play {
	return p.operator(store.TypeTerminated, store.Terminated, reason)
}

// shorten has the log so far removed, as when it is old.
func (p *play) shorten() *play {
	h := store.Fold(p.log)
	base := h.Baseline(p.now)
	base.At, base.ID = p.now, 1000 // below whatever is added now
	p.log = []store.Transition{base}
	return p
}

func (p *play) view() store.JobView {
	v := store.JobView{Now: p.now, Job: p.job, Transitions: p.log, History: store.Fold(p.log), Errors: p.fails, Versions: p.versions,
		Masked: store.Payload{Args: json.RawMessage(`{"customer_id":"•••","month":"•••","recipients":["•••"]}`)}}
	if p.job.ResultGeneration != 0 {
		v.Masked.Result = json.RawMessage(`{"rows":"•••"}`)
	}
	return v
}

// twoWorkers is the story of the article: A pauses, B finishes, A comes late.
func twoWorkers() *play {
	p := newPlay()
	p.job.Generation = 40
	p.lease = 25 * time.Second
	p.at(93*time.Millisecond + time.Second).claim("worker-a2-4411-91d07c3e")
	p.at(6 * time.Second).renew()
	p.at(31230*time.Millisecond).expire(store.Available, "")
	p.at(32091 * time.Millisecond).claim("worker-b7-812-3f9c00aa")
	p.at(36293*time.Millisecond).reject(41, store.OpComplete, store.ReasonSuperseded)
	p.at(40 * time.Second).renew()
	p.at(43 * time.Second).renew()
	return p.at(47 * time.Second)
}

// manyAttempts fails again and again with a growing pause.
func manyAttempts(n int) *play {
	p := newPlay()
	p.job.MaxAttempts = n + 1
	t := time.Second
	for i := range n {
		p.at(t).claim(fmt.Sprintf("worker-%02d-77-%08x", i%7, i*2654435761))
		if i%3 == 2 {
			p.at(t+30200*time.Millisecond).expire(store.Available, "")
			t += 31 * time.Second
			if i%6 == 5 {
				p.at(t+time.Second).reject(p.job.Generation, store.OpFail, store.ReasonLeaseExpired)
			}
			t += 2 * time.Second
			continue
		}
		p.at(t + 9*time.Second).renew()
		p.at(t + 20*time.Second)
		p.due(time.Duration(i+1)*7*time.Minute).fail(store.Retryable, "", []string{"timeout", "exit status 3"}[i%2], "dial tcp 10.0.0.7:5432: connect: connection refused after 12 s")
		t += 20*time.Second + time.Duration(i+1)*7*time.Minute
	}
	return p.at(t + 4*time.Second)
}

// manyRenewals runs for hours with a lease of ten seconds.
func manyRenewals(n int) *play {
	p := newPlay()
	p.lease = 10 * time.Second
	p.at(time.Second).claim("worker-a-1-00000001")
	for i := range n {
		pause := 3 * time.Second * time.Duration(i)
		if i > n/2 {
			pause += 7 * time.Second
		}
		p.at(4*time.Second + pause).renew()
	}
	return p.at(3*time.Second*time.Duration(n) + 12*time.Second)
}
