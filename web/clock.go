package web

import (
	"context"
	"sync"
	"time"
)

// clock is the database's clock as this process knows it, for showing how long
// ago something was. It asks again when its reading is old and counts on from
// there; nothing is decided by it.
type clock struct {
	read func(context.Context) (time.Time, error)

	mu   sync.Mutex
	then time.Time // the database's
	at   time.Time // this process's, when it was read
}

// clockAge is how long a reading is counted on from: clocks drift by far less
// than what is shown in that time, and a clock that was set is noticed.
const clockAge = 5 * time.Second

func (k *clock) now(ctx context.Context) (time.Time, error) {
	k.mu.Lock()
	then, age := k.then, time.Since(k.at)
	k.mu.Unlock()
	if !then.IsZero() && age < clockAge {
		return then.Add(age), nil
	}
	asked := time.Now()
	now, err := k.read(ctx)
	if err != nil {
		return time.Time{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.then, k.at = now, asked
	return now, nil
}
