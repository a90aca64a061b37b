package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fenceline/fenceline/store"
)

// lineCounts is what became of the input.
type lineCounts struct {
	Enqueued int64 `json:"enqueued"`
	Existing int64 `json:"existing"` // had been stored before, by the same key
	FirstID  int64 `json:"first_id,string,omitempty"`
	LastID   int64 `json:"last_id,string,omitempty"`
	last     int   // number of the last line that is stored
}

// maxAtomicBytes bounds what --atomic holds in memory.
const maxAtomicBytes = 256 << 20

// enqueueLines stores the jobs of standard input and says how many.
func enqueueLines(ctx context.Context, a *app, st *store.Store, atomic bool) error {
	now, err := st.Clock(ctx)
	if err != nil {
		return fmt.Errorf("ask the database for its time: %w", err)
	}
	b := &bulk{store: st}
	r := newLineReader(a.in, now)
	if atomic {
		err = b.whole(ctx, r)
	} else {
		err = b.stream(ctx, r)
	}
	return errors.Join(b.print(a, err), b.explain(err))
}

// bulk stores chunks and counts.
type bulk struct {
	store  *store.Store
	counts lineCounts
}

// stream reads the next chunk while the last one is being stored. A reader that
// waits for input that never comes is left behind when ctx ends.
func (b *bulk) stream(ctx context.Context, r *lineReader) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	chunks := make(chan chunk, 1)
	go func() {
		for {
			c := r.next(chunkLines, chunkBytes)
			select {
			case chunks <- c:
			case <-ctx.Done():
				return
			}
			if c.err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case c := <-chunks:
			if err := b.put(ctx, c.requests, c.lines); err != nil {
				return err
			}
			if errors.Is(c.err, io.EOF) {
				return nil
			}
			if c.err != nil {
				return c.err
			}
		}
	}
}

// whole stores everything in one transaction.
func (b *bulk) whole(ctx context.Context, r *lineReader) error {
	c := r.next(store.MaxBulk+1, maxAtomicBytes)
	switch {
	case c.err == nil:
		return fmt.Errorf("--atomic: the input has more than %d lines or %d bytes; leave --atomic out, or split it", store.MaxBulk, maxAtomicBytes)
	case !errors.Is(c.err, io.EOF):
		return c.err
	}
	done, err := b.store.EnqueueMany(ctx, c.requests)
	if err != nil {
		return blame(err, c.requests, c.lines)
	}
	b.count(done, c.lines)
	return nil
}

// put stores what can be stored of a chunk, in the order of its lines: all of
// it, or everything before the first line that is refused.
func (b *bulk) put(ctx context.Context, requests []store.Request, lines []int) error {
	if len(requests) == 0 {
		return nil
	}
	done, err := b.store.EnqueueMany(ctx, requests)
	var invalid *store.InvalidError
	var conflict *store.KeyConflictError
	switch {
	case err == nil:
		b.count(done, lines)
		return nil
	case errors.As(err, &invalid), errors.As(err, &conflict):
	case refusedWhole(err):
		return err
	default:
		return &unknownError{lines[0], lines[len(lines)-1], err}
	}
	half := len(requests) / 2
	if i, _, ok := position(err); ok {
		half = i
	}
	if half == 0 {
		return blame(err, requests, lines)
	}
	if err := b.put(ctx, requests[:half], lines[:half]); err != nil {
		return err
	}
	return b.put(ctx, requests[half:], lines[half:])
}

func (b *bulk) count(done []store.Enqueued, lines []int) {
	for i, d := range done {
		b.counts.last = lines[i]
		if d.Existing {
			b.counts.Existing++
			continue
		}
		b.counts.Enqueued++
		if b.counts.FirstID == 0 || d.ID < b.counts.FirstID {
			b.counts.FirstID = d.ID
		}
		b.counts.LastID = max(b.counts.LastID, d.ID)
	}
}

// position reads "[17].args" of a refused bulk.
func position(err error) (i int, field string, ok bool) {
	var invalid *store.InvalidError
	if !errors.As(err, &invalid) || !strings.HasPrefix(invalid.Field, "[") {
		return 0, "", false
	}
	number, field, _ := strings.Cut(invalid.Field[1:], "].")
	i, problem := strconv.Atoi(number)
	return i, field, problem == nil
}

// refusedWhole reports whether the database itself refused the transaction, as
// when its disk is full: then nothing of it is stored. An end of the session is
// no such answer, for it may come in place of the commit's.
func refusedWhole(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.SeverityUnlocalized == "ERROR"
}

// other finds where a message about one request points to another one.
var other = regexp.MustCompile(`\[(\d+)\]`)

// inLines makes the lines' numbers of the positions in a message.
func inLines(message string, lines []int) string {
	return other.ReplaceAllStringFunc(message, func(position string) string {
		i, err := strconv.Atoi(strings.Trim(position, "[]"))
		if err != nil || i >= len(lines) {
			return position
		}
		return fmt.Sprintf("line %d", lines[i])
	})
}

// blame names the line of a refused request.
func blame(err error, requests []store.Request, lines []int) error {
	var invalid *store.InvalidError
	if i, field, ok := position(err); ok && i < len(lines) && errors.As(err, &invalid) {
		return &lineError{lines[i], field, inLines(invalid.Message, lines)}
	}
	var conflict *store.KeyConflictError
	if errors.As(err, &conflict) {
		for i := len(requests) - 1; i >= 0; i-- {
			if requests[i].Kind == conflict.Kind && requests[i].Key == conflict.Key {
				return &lineError{lines[i], "key", fmt.Sprintf("belongs to job %d, which was enqueued by a different request", conflict.JobID)}
			}
		}
	}
	return err
}

// unknownError is a transaction whose answer never came.
type unknownError struct {
	first, last int
	err         error
}

func (e *unknownError) Error() string { return e.err.Error() }
func (e *unknownError) Unwrap() error { return e.err }

// explain says what is stored when something went wrong.
func (b *bulk) explain(err error) error {
	if err == nil {
		return nil
	}
	stored := "nothing was stored"
	if b.counts.last > 0 {
		stored = fmt.Sprintf("the lines up to %d are stored (%s, of which %d had been stored before), those behind it are not",
			b.counts.last, counted(b.counts.Enqueued+b.counts.Existing, "job"), b.counts.Existing)
	}
	var unknown *unknownError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w; %s, except that lines %d to %d may be stored: look before you repeat them", err, stored, unknown.first, unknown.last)
	}
	return fmt.Errorf("%w; %s", err, stored)
}

func (b *bulk) print(a *app, err error) error {
	if a.json {
		out := struct {
			lineCounts
			Error *lineProblem `json:"error,omitempty"`
		}{lineCounts: b.counts}
		if err != nil {
			out.Error = problemOf(err)
		}
		return a.printJSON(out)
	}
	if err != nil {
		return nil
	}
	if b.counts.Existing > 0 {
		return a.printf("Enqueued %s; %d had been stored before.\n", counted(b.counts.Enqueued, "job"), b.counts.Existing)
	}
	return a.printf("Enqueued %s.\n", counted(b.counts.Enqueued, "job"))
}

// jobs counts jobs in words.
type lineProblem struct {
	Line    int    `json:"line,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

func problemOf(err error) *lineProblem {
	var line *lineError
	if errors.As(err, &line) {
		return &lineProblem{line.Line, line.Field, line.Message}
	}
	return &lineProblem{Message: err.Error()}
}
