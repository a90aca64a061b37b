package proof

import "context"

// player is one client of a history. It knows the claims that it made.
type player struct {
	*recital
	client int
	mine   []Fence
	over   bool // there is none, or the newest has ended or was refused
}

// take binds a step to what is known by now, asks, and remembers the answer.
func (p *player) take(ctx context.Context, step Step) {
	c := step.Call
	if c.Verb.offers() {
		step = p.sensible(step)
		c = step.Call
	}
	if last := p.lastOffer(); c.Verb.offers() && step.Whose == Echo && last.Verb != "" {
		p.learn(last, p.ask(ctx, p.client, last, step))
		return
	}
	switch c.Verb {
	case ClaimJob:
		c.By, c.Worker = Fence{Attempt: p.number()}, p.name()
	case Find:
		if c.By = p.lostClaim(); c.By.Attempt == 0 {
			c.By = p.fence(Step{Whose: Theirs})
			c.By.Generation = 0
		}
	case Renew, Fail, Release:
		c.By, c.Worker = p.fence(step), p.name()
	case Complete:
		c.By, c.Worker, c.Result = p.fence(step), p.name(), p.result()
	case Requeue, Terminate, Correct, Amend, Erase, Note:
		if step.Fresh {
			p.take(ctx, Step{Call: Call{Verb: Read}})
		}
		c.Seen = p.revision(step.Back)
	case Enqueue:
		other := c.Other
		c = p.script.Request
		c.Other = other
	}
	p.learn(c, p.ask(ctx, p.client, c, step))
}

// sensible keeps most steps from offering what is known to be over: the client
// claims instead, or speaks for an attempt that is under way.
func (p *player) sensible(step Step) Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case step.Whose == Stranger:
	case len(p.claims) == 0:
		step.Call = Call{Verb: ClaimJob, Short: step.Call.Short}
	case step.Whose != Mine || step.Back > 0 || step.Again || !p.over:
	case p.busy:
		step.Whose = Theirs
	default:
		step.Call = Call{Verb: ClaimJob, Short: step.Call.Short}
	}
	return step
}

// lastOffer is the newest write of any attempt, answered or not.
func (p *player) lastOffer() Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offer
}

func (p *player) name() string { return who[p.client] }

// learn remembers what the answer gave.
func (p *player) learn(c Call, a Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch c.Verb {
	case ClaimJob, Find:
		if a.Lost {
			p.lost = append(p.lost, c.By)
		}
		if a.Verdict == Accepted {
			fence := Fence{c.By.Attempt, a.Generation}
			p.mine, p.claims, p.over, p.busy = append(p.mine, fence), append(p.claims, fence), false, true
		}
	case Renew, Complete, Fail, Release:
		ended := c.Verb != Renew || a.Verdict != Accepted
		if c.By == back(p.mine, 0, Fence{}) {
			p.over = ended
		}
		if c.By == back(p.claims, 0, Fence{}) {
			p.busy = !ended
		}
	case Read, Look, Requeue, Terminate, Correct, Amend, Erase, Note:
		if a.Row.Revision > 0 {
			p.seen = append(p.seen, a.Row.Revision)
		}
	}
}

func (p *player) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempt++
	return p.attempt
}

func (p *player) result() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.results++
	return string(rune('a'-1+p.results%26)) + p.name()
}

func (p *player) lostClaim() Fence {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.lost) == 0 {
		return Fence{}
	}
	return p.lost[len(p.lost)-1]
}

// stranger is an attempt that never claimed anything.
const stranger = 1000

// fence chooses what a step offers.
func (p *player) fence(step Step) Fence {
	p.mu.Lock()
	defer p.mu.Unlock()
	newest := back(p.claims, 0, Fence{stranger, 1})
	switch step.Whose {
	case Theirs:
		return back(p.claims, step.Back, newest)
	case Stranger:
		return Fence{stranger, back(p.claims, step.Back, newest).Generation}
	case Raised:
		return Fence{newest.Attempt, newest.Generation + 1}
	case Lowered:
		return Fence{newest.Attempt, newest.Generation - 1}
	}
	return back(p.mine, step.Back, newest)
}

func (p *player) revision(n int) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return back(p.seen, n, 1)
}

// back is the nth element from the end, as far back as there is one.
func back[T any](all []T, n int, otherwise T) T {
	if len(all) == 0 {
		return otherwise
	}
	return all[max(0, len(all)-1-n)]
}
