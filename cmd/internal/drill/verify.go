package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fenceline/fenceline/store"
)

// verify reads the ending from the database and reports it. What the steps said
// counts for nothing here.
func (d *Drill) verify(ctx context.Context, a, b *actor) error {
	view, err := d.cfg.Store.JobView(ctx, d.Job)
	if err != nil {
		return fmt.Errorf("verify the drill: %w", err)
	}
	payload, err := d.cfg.Store.Payload(ctx, d.Job)
	if err != nil {
		return fmt.Errorf("verify the drill: %w", err)
	}
	wrong := append(checkRow(view.Job, b), checkLanes(view.History, a, b)...)
	wrong = append(wrong, checkResult(payload.Result)...)
	ok := len(wrong) == 0
	s := b.step("verified", view.Now, "the late result was refused and recorded; the stored result is B's, of generation %d", view.Job.ResultGeneration)
	s.OK = &ok
	if !ok {
		s.Text = strings.Join(wrong, "; ")
	}
	d.tell(s)
	if !ok {
		return fmt.Errorf("%w: %s", ErrBroken, s.Text)
	}
	return nil
}

func checkRow(j store.Job, b *actor) (wrong []string) {
	if j.State != store.Completed {
		wrong = append(wrong, fmt.Sprintf("the job is %s, not completed", j.State))
	}
	if j.ResultAttemptID != b.attempt || j.ResultGeneration != b.generation {
		wrong = append(wrong, fmt.Sprintf("the stored result belongs to generation %d, not to B's %d", j.ResultGeneration, b.generation))
	}
	return wrong
}

func checkLanes(h store.History, a, b *actor) (wrong []string) {
	for _, v := range h.Violations {
		wrong = append(wrong, v.Invariant+": "+v.Message)
	}
	if len(h.Lanes) != 2 || h.Lanes[0].AttemptID != a.attempt || h.Lanes[1].AttemptID != b.attempt {
		return append(wrong, fmt.Sprintf("%d attempts are on record, not A's and B's", len(h.Lanes)))
	}
	if b.generation != a.generation+1 {
		wrong = append(wrong, fmt.Sprintf("B's generation %d does not follow A's %d", b.generation, a.generation))
	}
	if h.Lanes[0].End != store.EndExpired {
		wrong = append(wrong, fmt.Sprintf("A's attempt ended as %q, not expired", h.Lanes[0].End))
	}
	for _, t := range h.Lanes[0].Refused {
		if t.Op == store.OpComplete && t.Generation == a.generation {
			return wrong
		}
	}
	return append(wrong, "no refusal of A's result is on record")
}

func checkResult(raw json.RawMessage) []string {
	var r Result
	if err := json.Unmarshal(raw, &r); err != nil || r.By != "B" {
		return []string{"the stored result was not written by B"}
	}
	return nil
}
