package views

import (
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Phrase is a part of a sentence. Where At is set, it stands for that time and
// Text is empty.
type Phrase struct {
	Text   string
	At     time.Time
	Tone   Tone
	User   bool   // Text was written by a user and is set apart
	Search string // finds the jobs that Text counts; empty where it counts none
}

// Story says in a few sentences what is going on with a job: who may finish
// it, what comes next, and what became of attempts that came too late.
func Story(v store.JobView) []Phrase {
	var s tale
	s.state(v)
	s.kept(v)
	s.refused(v)
	s.twice(v)
	s.shortened(v)
	return s.phrases
}

// StoryText is the story as plain text, times in UTC.
func StoryText(v store.JobView) string {
	var b strings.Builder
	for _, p := range Story(v) {
		if p.At.IsZero() {
			b.WriteString(p.Text)
		} else {
			b.WriteString(momentTime(p.At, v.Now))
		}
	}
	return b.String()
}

// tale collects phrases.
type tale struct {
	phrases []Phrase
	subject int64 // the generation that the last sentence spoke of
}

func (s *tale) say(parts ...any) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			s.phrases = append(s.phrases, Phrase{Text: p})
		case time.Time:
			s.phrases = append(s.phrases, Phrase{At: p})
		case Phrase:
			s.phrases = append(s.phrases, p)
		}
	}
}

func (s *tale) state(v store.JobView) {
	switch v.Job.State {
	case store.Running:
		s.running(v)
	case store.Scheduled:
		s.say("It waits for its time: it may be claimed from ", v.Job.RunAt, ".")
	case store.Available:
		s.available(v)
	case store.Retryable:
		s.ending(v)
		s.say(" The next try is due at ", v.Job.RunAt, budget(v.Job), ".")
	case store.Completed:
		s.completed(v)
	case store.Discarded:
		s.ending(v)
		s.say(" The job was given up: ", givenUp(v), ".")
	case store.Terminated:
		s.terminated(v)
	}
	if at := v.Job.ErasedAt; !at.IsZero() && v.Job.State != store.Completed {
		s.say(" Its payload was erased at ", at, ".")
	}
}

func attempt(generation int64) string { return "Attempt " + decimal(generation) }

func budget(j store.Job) string {
	left := j.MaxAttempts - j.Attempts
	switch {
	case left <= 0:
		return ""
	case left == 1:
		return ", with the last attempt of " + decimal(int64(j.MaxAttempts))
	}
	return ", with " + decimal(int64(left)) + " of " + decimal(int64(j.MaxAttempts)) + " attempts left"
}

func (s *tale) running(v store.JobView) {
	j := v.Job
	if !j.LeaseUntil.After(v.Now) {
		s.say(attempt(j.Generation), "’s lease passed at ", j.LeaseUntil,
			" and nobody has taken the job back yet. Its process may still be running, without authority: whatever it writes is refused.")
		return
	}
	s.say(attempt(j.Generation), " holds this job until ", j.LeaseUntil)
	if l := lastLane(v); l != nil && len(l.Renewals) > 0 {
		s.say(" and renewed last at ", l.Renewals[len(l.Renewals)-1])
	}
	s.say(".")
	if prev := laneBefore(v, j.Generation); prev != nil {
		s.say(" ")
		s.laneEnd(*prev)
	}
}

func (s *tale) available(v store.JobView) {
	if a := lastAction(v); a != nil && a.Type == store.TypeRequeued && newest(v, *a) {
		did := "put it back"
		if a.Detail.ArgsVersion != 0 {
			did += " with other arguments"
		}
		s.action(*a, did)
		s.say(" It waits to be claimed; the next attempt will be ", decimal(v.Job.Generation+1), ".")
		return
	}
	if lastLane(v) == nil {
		s.say("It waits to be claimed; no attempt has been made yet.")
		return
	}
	s.ending(v)
	s.say(" The job waits to be claimed again", budget(v.Job), ".")
}

func (s *tale) completed(v store.JobView) {
	if !v.Job.ErasedAt.IsZero() {
		s.say("A result was accepted at ", v.Job.FinishedAt, "; it was erased at ", v.Job.ErasedAt, ".")
		return
	}
	s.say(attempt(v.Job.ResultGeneration), "’s result was accepted at ", v.Job.FinishedAt, ".")
}

func (s *tale) terminated(v store.JobView) {
	a := lastAction(v)
	if a == nil || a.Type != store.TypeTerminated {
		s.say("An operator ended this job at ", v.Job.FinishedAt, ".")
	} else {
		s.action(*a, "ended this job")
	}
	if l := lastLane(v); l != nil && l.End == store.EndTerminated {
		s.say(" ", attempt(l.Generation), " held it then: its process may still be running, and effects outside the database may be under way, but nothing it writes is accepted.")
	}
}

// action tells what an operator did, with the reason as it was given.
func (s *tale) action(a store.Transition, did string) {
	who := a.Actor
	if who == "" {
		who = "An operator"
	}
	s.say(Phrase{Text: excerpt(who, 40), User: true}, " "+did+" at ", a.At)
	if a.Reason != "" {
		s.say(": “", Phrase{Text: excerpt(a.Reason, 160), User: true}, "”")
	}
	s.say(".")
}

// ending tells how the last attempt ended.
func (s *tale) ending(v store.JobView) {
	if l := lastLane(v); l != nil {
		s.laneEnd(*l)
	}
}

func (s *tale) laneEnd(l store.Lane) {
	who := attempt(l.Generation)
	s.subject = l.Generation
	switch l.End {
	case store.EndExpired:
		which := " without a renewal."
		if len(l.Renewals) > 0 {
			which = " without another renewal."
		}
		s.say(who, "’s lease ended at ", l.LeaseUntil, which)
	case store.EndFailed:
		s.say(who, " failed at ", l.EndedAt, ".")
	case store.EndReleased:
		s.say(who, " gave the job back at ", l.EndedAt, ".")
	case store.EndRequeued:
		s.say(who, " lost the job to a requeue at ", l.EndedAt, ".")
	case store.EndTerminated:
		s.say(who, " was cut off at ", l.EndedAt, " when an operator terminated the job.")
	case store.EndCompleted:
		s.say(who, "’s result was accepted at ", l.EndedAt, ".")
	}
}

// kept says that an older result stands while the job runs again.
func (s *tale) kept(v store.JobView) {
	if v.Job.ResultGeneration != 0 && v.Job.State != store.Completed {
		s.say(" The stored result is still that of attempt ", decimal(v.Job.ResultGeneration), ", until a new one is accepted.")
	}
}

func givenUp(v store.JobView) string {
	l := lastLane(v)
	if l == nil {
		return "no attempt is left"
	}
	if words := ReasonWords(l.Reason); words != "" && l.Reason != store.ReasonBudgetSpent {
		return words
	}
	return "all " + Plural(int64(v.Job.Attempts), "attempt") + " of its budget are spent"
}

// refused tells the refused write that says most, and how many there were.
func (s *tale) refused(v store.JobView) {
	last, n := tellingRefusal(v.History.Lanes)
	if n == 0 {
		return
	}
	verdict := Phrase{Text: "refused (" + last.Reason + ")", Tone: ToneStale}
	who := attempt(last.Generation)
	if last.Generation == s.subject {
		who = "It"
	}
	s.say(" ", who, " came back at ", last.At, " ", Offered(last.Op), ", which was ", verdict, ".")
	if last.Op == store.OpComplete {
		s.say(" Nothing of it was stored.")
	}
	if n > 1 {
		s.say(" In all, ", Plural(int64(n), "write"), " of attempts without authority were refused.")
	}
}

// twice warns of effects outside the database that nobody can fence.
func (s *tale) twice(v store.JobView) {
	first, again := v.History.MaybeTwice()
	if again == 0 {
		return
	}
	s.say(" ", attempt(again), " did again what attempt ", decimal(first), " may have done: what the job sent outside ",
		Phrase{Text: MaybeTwice, Tone: ToneRetry}, ".")
}

// shortened says that what happened is not all told any more.
func (s *tale) shortened(v store.JobView) {
	if !v.History.Before.IsZero() {
		s.say(" The history before ", v.History.Before, " has been removed.")
	}
}
