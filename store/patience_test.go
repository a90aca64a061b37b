package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/relay"
	"github.com/fenceline/fenceline/store/storetest"
)

// silenced is a store whose database says nothing any more, and its relay.
func silenced(t *testing.T) (*store.Store, *relay.Relay) {
	t.Helper()
	_, address := storetest.NewWithURL(t)
	to, err := relay.To(address)
	if err != nil {
		t.Fatal(err)
	}
	r, err := relay.New(to, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	through, err := r.URL(address)
	if err != nil {
		t.Fatal(err)
	}
	st := storetest.Open(t, store.Config{URL: through + "&connect_timeout=1", MaxConns: 2, RenewalConns: 1, StatementTimeout: time.Second})
	if _, err := st.Clock(t.Context()); err != nil { // a connection that exists already is waited for at a statement
		t.Fatal(err)
	}
	<-time.After(1200 * time.Millisecond) // one that was idle for a second is tried first
	r.Silence(true)
	return st, r
}

func TestASilentDatabaseIsNotWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	st, r := silenced(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range 4 { // more than there are connections
		_, err := st.Clock(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Fatalf("the clock of a silent database: %v (%v)", err, ctx.Err())
		}
	}
	r.Mend()
	if _, err := st.Clock(ctx); err != nil {
		t.Errorf("after it came back: %v", err)
	}
}
