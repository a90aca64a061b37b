package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// clock is the database's time.
type clock interface {
	Clock(context.Context) (time.Time, error)
}

// runAt reads when a job is due: an RFC 3339 time, or "+5m", counted on the
// database's clock from when this is called. Empty means at once.
func runAt(ctx context.Context, db clock, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if !strings.HasPrefix(text, "+") {
		return absoluteTime(text)
	}
	after, err := delay(text)
	if err != nil {
		return time.Time{}, err
	}
	now, err := db.Clock(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask the database for its time: %w", err)
	}
	return now.Add(after), nil
}

func absoluteTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("is neither a time such as 2030-01-31T08:00:00Z nor a delay such as +5m")
	}
	var invalid *store.InvalidError
	if errors.As(store.CheckRunAt(at), &invalid) {
		return time.Time{}, errors.New(invalid.Message)
	}
	return at, nil
}

// delay reads "+1h30m".
func delay(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimPrefix(text, "+"))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("is not a delay such as +90s, +5m or +1h30m")
	}
	return d, nil
}
