package worker

import (
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestAPoolCarriesAnOperationToItsEnd(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	for range 300 {
		enqueue(t, st, store.Request{Kind: "nobody handles it", RunAt: time.Now().Add(time.Hour)})
	}
	o, err := st.PreviewOperation(t.Context(), store.OperationRequest{Action: store.ActionTerminate, Actor: "oncall"})
	if err != nil {
		t.Fatal(err)
	}
	p := New(st, config(t))
	HandleNoop(p)
	pool := run(t, p)
	if _, _, err := st.ConfirmOperation(t.Context(), store.OperationParams{ID: o.ID, Seen: o.Revision, Actor: "oncall", Reason: "not wanted"}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); !o.Over(); {
		if time.Now().After(end) {
			t.Fatalf("it is %+v", o)
		}
		time.Sleep(10 * time.Millisecond)
		if o, err = st.Operation(t.Context(), o.ID); err != nil {
			t.Fatal(err)
		}
	}
	if o.Done != 300 || o.State != store.OperationFinished || o.Worker != pool.ID() {
		t.Errorf("%+v", o)
	}
}
