package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// keptSecret is what stands in args where nobody may see it.
const keptSecret = "canary-77aa-41111111"

// tattler is a tracer that remembers what it was told.
type tattler struct {
	mu   sync.Mutex
	told bytes.Buffer
}

func (l *tattler) Begin(ctx context.Context, _ *store.Claimed) (context.Context, func(Ending, string)) {
	return ctx, func(how Ending, reason string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		fmt.Fprintln(&l.told, how, reason)
	}
}

func (*tattler) Traceparent(context.Context) string { return "" }

// What jobs were given and what their handlers say of it stands in no log, at
// whatever level, and in no span; of what nobody may see, nothing is in the
// errors, traces and outputs that are stored.
func TestWhatHandlersSayOfSecretsIsLoggedNowhereAndStoredWithoutThem(t *testing.T) {
	t.Parallel()
	ways := map[string]func(attempt *Attempt, password string) (any, error){
		"error": func(_ *Attempt, p string) (any, error) { return nil, fmt.Errorf("sign in with %q: refused", p) },
		"address": func(_ *Attempt, p string) (any, error) {
			return nil, Permanent(errors.New("Get https://x.example/?p=" + p))
		},
		"class": func(_ *Attempt, p string) (any, error) {
			return nil, &classError{"refused for " + p + strings.Repeat("!", 1000), errors.New("refused")}
		},
		"panic": func(_ *Attempt, p string) (any, error) { panic(map[string]string{"password": p}) },
		"output": func(a *Attempt, p string) (any, error) {
			a.KeepOutput("password is " + p)
			return map[string]string{"token": p}, nil
		},
		"result": func(a *Attempt, p string) (any, error) {
			a.KeepOutput("made " + p + "-new")
			return map[string]string{"token": p + "-new"}, nil
		},
		"unstorable": func(_ *Attempt, p string) (any, error) { return json.RawMessage(`{"token":"` + p + `\u0000"}`), nil },
	}
	var log bytes.Buffer
	cfg := config(t)
	spans := &tattler{}
	cfg.Log, cfg.Tracer = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), spans
	st := storetest.New(t)
	p := New(st, cfg)
	type args struct{ Way, Password string }
	Handle(p, "say", func(_ context.Context, job Job[args]) (any, error) {
		return ways[job.Args.Way](job.Attempt, job.Args.Password)
	})
	Handle(p, "misfit", func(context.Context, Job[struct{ Password int8 }]) (any, error) { return nil, nil })
	ids := map[string]int64{"misfit": enqueue(t, st, store.Request{Kind: "misfit", Args: json.RawMessage(`{"password":90071992547409931234}`), MaxAttempts: 1})}
	for way := range ways {
		ids[way] = enqueue(t, st, store.Request{Kind: "say", Args: json.RawMessage(`{"way":"` + way + `","password":"` + keptSecret + `"}`), MaxAttempts: 1})
	}
	pool := run(t, p)
	for way, id := range ids {
		end := store.Discarded
		if way == "output" || way == "result" {
			end = store.Completed
		}
		awaitState(t, st, id, end)
		said := failures(t, st, id)
		if len(said) != 1 {
			t.Errorf("%s: %+v", way, said)
			continue
		}
		text := said[0].Class + said[0].Message + said[0].Trace + said[0].Output
		if strings.Contains(text, keptSecret) || strings.Contains(text, "90071992547409931234") {
			t.Errorf("%s: stored with the secret: %s", way, text)
		}
		if way != "unstorable" && !strings.Contains(text, "•••") {
			t.Errorf("%s: nothing was taken out: %s", way, text)
		}
	}
	if err := pool.halt(t); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"log": log.String(), "spans": spans.told.String()} {
		if strings.Contains(text, keptSecret) || strings.Contains(text, "90071992547409931234") || text == "" {
			t.Errorf("the %s: %s", what, text)
		}
	}
}
