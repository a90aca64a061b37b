package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestWhatFailedTwiceTheSameWayIsSaidOnce(t *testing.T) {
	t.Parallel()
	err := errors.New("connect to the database:\n\t127.0.0.1:9: connection refused\n\t127.0.0.1:9: connection refused\n\t[::1]:9: connection refused")
	same(t, "the sentence", oneSentence(err), "connect to the database: 127.0.0.1:9: connection refused; [::1]:9: connection refused")
}

func TestAVerbThatASignalEndedNamesTheSignal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	reading := fmt.Errorf("read the audit: %w", context.Canceled)
	same(t, "an end that nobody asked for", stopped(ctx, reading), reading)
	cancel(errors.New("interrupt signal received"))
	same(t, "the sentence", stopped(ctx, reading).Error(), "read the audit: interrupt signal received")
	same(t, "what was said already", stopped(ctx, errors.Join(errSaid, reading)).Error(), errors.Join(errSaid, reading).Error())
	same(t, "nothing", stopped(ctx, nil), nil)
}
