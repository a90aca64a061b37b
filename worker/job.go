package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// Job is what a handler works on: one attempt of one logical job.
type Job[Args any] struct {
	ID        int64
	Kind      string
	Queue     string
	Key       string // empty when the job has none
	Tags      []string
	Args      Args
	CreatedAt time.Time // the database's clock
	Attempt   *Attempt
}

// Attempt is one try at a job: who it is, and whether it may still act.
type Attempt struct {
	ID         uuid.UUID // fresh for each claim
	Generation int64     // the fencing token: grows by one with each claim of the job
	Number     int       // attempts used of the budget, this one included
	Max        int       // the budget
	held       *attempt
}

// idempotencySpace keeps the keys apart from every other use of such names.
var idempotencySpace = uuid.MustParse("7c2dbe9e-6d3c-4b86-8a0a-0b6c7d1c5a41")

// IdempotencyKey names the logical job to the outside: it is equal for every
// attempt of the job, after retries, expiries and requeues alike, and differs
// between jobs, also between those of two databases. Hand it to whoever can
// recognise a repeated request.
func (j Job[Args]) IdempotencyKey() string {
	name := strconv.FormatInt(j.ID, 10) + "/" + strconv.FormatInt(j.CreatedAt.UnixMicro(), 10) + "/" + j.Kind
	return uuid.NewSHA1(idempotencySpace, []byte(name)).String()
}

// FollowUp asks for a job that is written together with this attempt's result,
// in the same transaction, if and only if the result is accepted. It is unique
// by this job and name: when the job runs again, the follow-up that an earlier
// result wrote stays the one. Its args are marshalled now. The options may set
// the queue, priority, budget, tags or due time of the request; its kind and
// args are those given here.
// The error, an *[store.InvalidError] where a field is at fault, says why it
// could not be stored; a name can be given once an attempt.
func (j Job[Args]) FollowUp(name, kind string, args any, options ...func(*store.Request)) error {
	raw, err := marshal(args)
	if err != nil {
		return fmt.Errorf("follow-up %q: marshal args: %w", name, err)
	}
	f := store.FollowUp{Name: name}
	for _, set := range options {
		set(&f.Request)
	}
	f.Request.Kind, f.Request.Args = kind, raw
	if err := f.Check(); err != nil {
		return fmt.Errorf("follow-up %q: %w", name, err)
	}
	return j.Attempt.held.follow(f)
}

// Check says whether the attempt may start a new side effect now. It returns
// nil while the lease is known to hold, by this process's monotonic clock;
// otherwise the reason for which the attempt was cancelled. It asks nobody, so
// it is cheap enough to stand before every effect; the effect itself is not
// fenced by it.
func (a *Attempt) Check(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return a.held.check()
}

// KeepOutput stores text beside the attempt when its outcome is accepted: what
// a program said on standard error, for example. A later call replaces the
// earlier one; the store cuts what is too long. It is shown by the payload
// rules, so mask secrets first.
func (a *Attempt) KeepOutput(text string) { a.held.keepOutput(text) }

// decode reads args into a handler's type. Raw JSON is passed on as it is.
func decode[Args any](raw json.RawMessage) (Args, error) {
	var args Args
	if as, ok := any(&args).(*json.RawMessage); ok {
		*as = raw
		return args, nil
	}
	return args, json.Unmarshal(raw, &args)
}

// marshal writes a handler's value. Raw JSON is passed on as it is, so that an
// invalid one is refused by the store and not here; nothing is null.
func marshal(value any) (json.RawMessage, error) {
	switch v := value.(type) {
	case nil:
		return json.RawMessage("null"), nil
	case json.RawMessage:
		if len(v) == 0 {
			return json.RawMessage("null"), nil
		}
		return v, nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

var errTwice = errors.New("this attempt has already asked for a follow-up of that name")
