package views

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/fenceline/fenceline/store"
	"golang.org/x/net/html"
)

// did records what an operator did that leaves the job where it stands.
func (p *play) did(t store.Transition) *play {
	t.Actor, t.To, t.RunAt = "anna", p.job.State, p.job.RunAt
	finished := p.job.FinishedAt
	p.change(t)
	p.job.FinishedAt = finished
	return p
}

func (p *play) erase() *play {
	p.job.ErasedAt, p.job.ResultGeneration, p.job.ArgsBytes = p.now, 0, 0
	p.versions = nil
	return p.did(store.Transition{Type: store.TypeErased, Reason: "asked for by the customer"})
}

// corrected gives the job other args.
func (p *play) corrected(reason string) *play {
	p.versions = append([]store.ArgsVersion{{Version: p.job.ArgsVersion, ReplacedAt: p.now, ReplacedBy: "anna", Reason: reason, Bytes: 412}}, p.versions...)
	p.job.ArgsVersion++
	p.requeue(reason)
	p.log[len(p.log)-1].Detail.ArgsVersion = p.job.ArgsVersion
	return p
}

// changed is a job on which everything was done that can be done to one.
func changed() *play {
	p := newPlay()
	p.at(time.Second).claim("w1").at(2*time.Second).fail(store.Discarded, store.ReasonPermanent, "bad month", "no month 13")
	p.at(10 * time.Second).corrected("month 13 was meant to be 12")
	p.at(11*time.Second).claim("w2").at(12*time.Second).fail(store.Discarded, store.ReasonPermanent, "bad customer", "none")
	p.at(20 * time.Second).corrected("the customer has moved")
	low, high := int16(0), int16(-5)
	p.job.Priority, p.job.Tags = high, []string{"vip"}
	was := p.job
	p.job.Queue, p.job.MaxAttempts, p.job.RunAt = "reports-slow", 9, p.now.Add(time.Hour)
	p.at(25 * time.Second).did(store.Transition{Type: store.TypeAmended, Reason: "the archive is slow today",
		Detail: store.Detail{Priority: &high, PriorityWas: &low, QueueWas: was.Queue, RunAtWas: was.RunAt, BudgetWas: was.MaxAttempts, TagAdded: "vip", TagRemoved: "new"}})
	p.at(26 * time.Second).did(store.Transition{Type: store.TypeDuplicated, Reason: "for the other branch", Detail: store.Detail{Copy: 70413}})
	p.at(27 * time.Second).did(store.Transition{Type: store.TypeNoted, Reason: "The customer was called; they wait until Monday."})
	return p.at(30 * time.Second).claim("w3").at(31 * time.Second).complete()
}

// viewerSample is what somebody sees who may do nothing.
func viewerSample() templ.Component {
	p := changed()
	f := frame(TopicJob(p.job.ID))
	f.Now, f.Limits = p.now, &Limits{store.Powers{Role: store.RoleViewer}}
	return Job(JobPage{Frame: f, View: p.view()})
}

// argsConflict is a correction that came too late.
func argsConflict() ActionPage {
	p := twoWorkers()
	seen := p.job.Revision - 1
	return ActionPage{Frame: frame(), Since: p.log[3:4], Conflict: &store.ConflictError{Action: store.ActionAmend, Why: store.ConflictRunning, Field: "args", Seen: seen, Job: p.job},
		Form: ActionForm{Action: store.ActionAmend, Job: p.job, Typed: url.Values{FieldReason: {"the month"}, FieldArgs: {`{"month": "2026-12"}`}}}}
}

func uglyAmendment() ActionForm {
	j := uglyView().Job
	j.State, j.ErasedAt = store.Retryable, time.Time{}
	return ActionForm{Action: store.ActionAmend, Job: j, Problem: &store.InvalidError{Field: FieldQueue, Message: "holds a control character"},
		Typed: url.Values{FieldReason: {hostile[0]}, FieldQueue: {hostile[1]}, FieldAddTag: {hostile[2]}, FieldPriority: {"many"}}}
}

func TestTheTimelineTellsWhatAnOperatorChangedFromWhatToWhat(t *testing.T) {
	page := render(t, jobSample(changed()))
	for _, want := range []string{"with other arguments, version 2", "with other arguments, version 3", ">priority<", "reports-slow", ">tag added<", ">tag removed<",
		`href="/ops/jobs/70413">the new job 70413<`, "The customer was called; they wait until Monday.", "Noted by ", "Version 2", "Version 1",
		"month 13 was meant to be 12", "version 3,"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if got := len(amendments(changed().log[7])); got != 6 {
		t.Errorf("%d changes are told, want 6", got)
	}
	again := store.Detail{ArgsVersion: 4, Restored: 1}
	if got := argsNote(again); got != "with the arguments of version 1 again, now version 4" {
		t.Error(got)
	}
	erased := render(t, jobSample(changed().erase()))
	for _, want := range []string{"arguments, result and texts are gone", "Its arguments were erased; it needs others.", "It has been erased already.", "it was erased at "} {
		if !strings.Contains(erased, want) {
			t.Errorf("the erased job’s page does not have %q", want)
		}
	}
	if strings.Contains(erased, ">Reveal<") || !strings.Contains(erased, ">Correct…<") {
		t.Error("what is erased is offered to be seen, or cannot be given other arguments")
	}
	// A note does not hide that the job was put back.
	p := newPlay().claim("w").fail(store.Discarded, "", "x", "y").corrected("numbers")
	p.at(time.Minute).did(store.Transition{Type: store.TypeNoted, Reason: "n"})
	if story := StoryText(p.view()); !strings.Contains(story, "put it back with other arguments") {
		t.Error(story)
	}
}

func TestWhoMayNotChangeAJobReadsWhyOnce(t *testing.T) {
	page := render(t, viewerSample())
	if strings.Contains(page, "<form method=\"post\" action=\"/ops/jobs/") || strings.Contains(page, "data-act=") {
		t.Error("a form is offered that would be refused")
	}
	rests := 0
	for _, n := range nodes(t, page) {
		if n.Data != "button" || !slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "disabled" }) {
			continue
		}
		rests++
		if why := attr(n, "aria-describedby"); why == "" || !strings.Contains(page, `id="`+why+`"`) {
			t.Errorf("a button rests and does not say why: %v", n.Attr)
		}
	}
	if rests != len(headActions)+2 { // and restore and erase
		t.Errorf("%d buttons rest", rests)
	}
	// Beside requeue, to which the others point, and terminate.
	if got := strings.Count(page, "Your role is viewer; acting needs operator."); got != 2 {
		t.Errorf("it is said %d times", got)
	}
}

func TestWhatWasTypedStaysAfterAConflictAndTheButtonsAreThoseThatArePossible(t *testing.T) {
	page := render(t, Action(argsConflict()))
	for _, want := range []string{"{&#34;month&#34;: &#34;2026-12&#34;}</textarea>", ">the month</textarea>", "Requeue with these", "Duplicate with these", "the job is running", "<b>args</b>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	if strings.Contains(page, "Save for the next attempt") {
		t.Error("saving is offered under a running attempt")
	}
	long := render(t, Reveal(RevealPage{frame(), newPlay().job, 0, store.Payload{Args: []byte(`"` + strings.Repeat("x", 1<<20-2) + `"`)}}))
	if strings.Contains(long, "<textarea") || !strings.Contains(long, "too long for a form") {
		t.Error("a part of the arguments is offered as all of them")
	}
}
