package main

import (
	"errors"
	"testing"
)

func TestWhatFailedTwiceTheSameWayIsSaidOnce(t *testing.T) {
	t.Parallel()
	err := errors.New("connect to the database:\n\t127.0.0.1:9: connection refused\n\t127.0.0.1:9: connection refused\n\t[::1]:9: connection refused")
	same(t, "the sentence", oneSentence(err), "connect to the database: 127.0.0.1:9: connection refused; [::1]:9: connection refused")
}
