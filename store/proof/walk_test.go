package proof

import (
	"fmt"
	"testing"

	"github.com/fenceline/fenceline/store"
)

// walks are lives of a job, call by call, that pass every edge and every
// refusal of the protocol. A revision of 0 stands for the current one.
var walks = map[string][]Call{
	"budget and results": {
		{Verb: Enqueue, Budget: 2},
		claim(1), renew(1, 1), renew(stranger, 1), renew(1, 2), {Verb: Lapse}, renew(1, 1), {Verb: Expire}, fail(1, 1), renew(1, 1),
		claim(2), {Verb: Fail, By: Fence{2, 2}, Later: true}, fail(2, 2), release(2, 2, true),
		{Verb: Requeue}, {Verb: Requeue}, claim(3), {Verb: Fail, By: Fence{3, 3}, Permanent: true},
		{Verb: Requeue}, claim(4), release(4, 4, false), release(4, 4, false), claim(5), release(5, 5, true),
		{Verb: Requeue}, claim(6), complete(6, 6, "this", 1), complete(6, 6, "that", 2), fail(6, 6), complete(6, 7, "that", 0),
		{Verb: Requeue}, {Verb: Requeue, Seen: 1}, claim(7), complete(6, 6, "that", 0), fail(2, 2), fail(stranger, 2), release(4, 4, true),
		complete(7, 7, "that", 2), complete(6, 6, "this", 0), {Verb: Terminate},
		{Verb: Requeue}, claim(8), {Verb: Terminate, Seen: 3}, {Verb: Terminate}, renew(8, 8), complete(8, 8, "this", 0), {Verb: Terminate},
		{Verb: Enqueue, Budget: 2}, {Verb: Enqueue, Budget: 2, Other: true},
		{Verb: Requeue}, fail(8, 8), claim(9), {Verb: Lapse}, {Verb: Expire}, {Verb: Expire},
	},
	"losing its workers": {
		{Verb: Enqueue, Budget: 5},
		claim(1), {Verb: Expire}, {Verb: Lapse}, {Verb: Expire}, claim(2), {Verb: Lapse}, {Verb: Expire}, {Verb: Promote}, claim(3),
		{Verb: ComeDue}, {Verb: Promote}, claim(4), {Verb: Requeue}, renew(4, 3), claim(5), {Verb: Fail, By: Fence{5, 4}, Later: true}, {Verb: Promote},
		{Verb: Requeue}, claim(6), fail(6, 5), {Verb: Requeue}, claim(7), {Verb: Find, By: Fence{Attempt: 6}},
		{Verb: Terminate}, {Verb: Hold}, claim(8), {Verb: Requeue}, claim(9), release(9, 6, true),
	},
	"giving up with attempts left": {
		{Verb: Enqueue, Budget: 3},
		claim(1), {Verb: Fail, By: Fence{1, 1}, Permanent: true, Later: true}, claim(2), {Verb: Promote},
		{Verb: Requeue}, claim(3), {Verb: Fail, By: Fence{3, 2}, Permanent: true}, claim(4),
	},
	"corrected and erased": {
		{Verb: Enqueue, Budget: 1}, {Verb: Amend, Budget: 1}, {Verb: Amend, Budget: 2, Args: true}, {Verb: Correct}, {Verb: Erase},
		claim(1), {Verb: Amend, Budget: 3, Args: true}, {Verb: Amend, Budget: 3}, {Verb: Note}, {Verb: Correct}, complete(1, 1, "this", 0),
		claim(2), {Verb: Fail, By: Fence{2, 2}, Permanent: true}, {Verb: Amend, Budget: 4, Args: true}, {Verb: Correct}, {Verb: Correct},
		claim(3), complete(3, 3, "that", 1), {Verb: Erase, Seen: 1}, {Verb: Erase}, {Verb: Erase}, {Verb: Requeue}, {Verb: Note}, complete(3, 3, "that", 1),
		{Verb: Enqueue, Budget: 1}, {Verb: Correct}, claim(4), complete(3, 3, "that", 1), complete(4, 4, "more", 1), {Verb: Requeue},
	},
	"waiting for its time": {
		{Verb: Enqueue, Budget: 1, Later: true},
		claim(1), {Verb: Promote}, {Verb: ComeDue}, {Verb: Promote}, {Verb: Promote}, claim(2), complete(2, 1, "this", 0), renew(2, 1), release(2, 1, false),
	},
}

func claim(attempt int) Call               { return Call{Verb: ClaimJob, By: Fence{Attempt: attempt}} }
func renew(attempt int, g int64) Call      { return Call{Verb: Renew, By: Fence{attempt, g}} }
func fail(attempt int, g int64) Call       { return Call{Verb: Fail, By: Fence{attempt, g}} }
func release(a int, g int64, on bool) Call { return Call{Verb: Release, By: Fence{a, g}, Started: on} }
func complete(attempt int, g int64, result string, followUps int) Call {
	return Call{Verb: Complete, By: Fence{attempt, g}, Result: result, FollowUps: followUps}
}

// everyEdge takes the walks on the real store and holds each answer, and all
// that is left behind, against the model.
func everyEdge(t *testing.T, stage *Stage) error {
	for name, calls := range walks {
		s := &scene{subject: &subject{Stage: stage, names: newNames()}, t: t, ctx: t.Context()}
		s.key = fmt.Sprintf("%016x", s.salt)
		if err := s.walk(calls); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := stage.tidy(s.ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) walk(calls []Call) error {
	model := State{}
	for i, c := range calls {
		if c.Seen == 0 {
			c.Seen = model.Revision
		}
		for _, c := range []Call{c, {Verb: Look}} {
			c.Alone = true
			got := s.answer(c)
			ok, next := model.step(c, got)
			if !ok {
				return fmt.Errorf("call %d, %s: %s, where the model says %s", i+1, c, got, model.After(c)[0].Answer)
			}
			model = next
		}
	}
	return nil
}

func (s *scene) answer(c Call) Answer {
	if c.Verb != Enqueue {
		return s.perform(s.ctx, c, 0)
	}
	id, a := s.enqueue(s.ctx, c)
	if s.id != 0 && id != s.id {
		return Answer{Err: fmt.Sprintf("the key leads to job %d and to job %d", s.id, id)}
	}
	s.id = id
	return a
}

// The walks say that they pass everything: so they must.
func TestTheWalksPassEveryVerdictAndState(t *testing.T) {
	seen := map[string]bool{}
	for _, calls := range walks {
		model := State{}
		for _, c := range calls {
			if c.Seen == 0 {
				c.Seen = model.Revision
			}
			c.Alone = true
			o := model.After(c)[0]
			model = o.After
			seen[fmt.Sprint(c.Verb, " ", o.Answer.Verdict)] = true
			seen[string(model.State)] = true
		}
	}
	for _, s := range store.States {
		if !seen[string(s)] {
			t.Errorf("no walk comes to %s", s)
		}
	}
	for _, want := range []string{
		"enqueue accepted", "enqueue repeated", "enqueue key conflict", "claim accepted", "claim ", "find ",
		"renew accepted", "renew superseded", "renew lease_expired", "renew terminated", "renew already_ended",
		"complete accepted", "complete repeated", "complete superseded", "complete terminated",
		"fail accepted", "fail repeated", "fail superseded", "fail lease_expired", "fail already_ended", "fail terminated",
		"release accepted", "release repeated", "release already_ended",
		"expire accepted", "expire ", "promote accepted", "promote ",
		"requeue accepted", "requeue already_waiting", "requeue changed",
		"terminate accepted", "terminate already_ended", "terminate changed",
	} {
		if !seen[want] {
			t.Errorf("no walk has %q", want)
		}
	}
}
