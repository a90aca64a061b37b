package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

const (
	chunkLines   = 5_000   // jobs of one transaction
	chunkBytes   = 8 << 20 // and their text, so that big args do not fill the memory
	maxLineBytes = store.MaxArgs + 256<<10
)

// lineError is what is wrong with one line of the input.
type lineError struct {
	Line    int    // the first is 1
	Field   string // empty when it is the line as a whole
	Message string
}

func (e *lineError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return fmt.Sprintf("line %d: %s: %s", e.Line, e.Field, e.Message)
}

// chunk is some lines that are stored together.
type chunk struct {
	requests []store.Request
	lines    []int // their numbers
	bytes    int
	err      error // *lineError or of reading; it comes behind the requests
}

// lineReader reads requests, one JSON object a line. Empty lines are skipped.
type lineReader struct {
	in    *bufio.Reader
	line  int
	now   time.Time // the database's clock when the reading began
	began time.Time
	actor string
}

func newLineReader(in io.Reader, now time.Time) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 256<<10), now: now, began: time.Now(), actor: actor()}
}

// next reads a chunk; its err is io.EOF at the end of the input.
func (r *lineReader) next(maxLines, maxBytes int) (c chunk) {
	for len(c.requests) < maxLines && c.bytes < maxBytes {
		raw, err := r.read()
		if err != nil {
			c.err = err
			return c
		}
		if len(raw) == 0 {
			continue
		}
		req, err := r.parse(raw)
		if err != nil {
			c.err = r.blame(err)
			return c
		}
		c.requests, c.lines, c.bytes = append(c.requests, req), append(c.lines, r.line), c.bytes+len(raw)
	}
	return c
}

// read returns a line of its own memory, without the white space around it.
func (r *lineReader) read() ([]byte, error) {
	var text []byte
	for {
		part, err := r.in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > maxLineBytes:
			r.line++
			return nil, &lineError{r.line, "", fmt.Sprintf("is longer than %d bytes", maxLineBytes)}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && len(text) == 0:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("read line %d: %w", r.line+1, err)
		}
		r.line++
		if r.line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		return bytes.TrimSpace(text), nil
	}
}

func (r *lineReader) blame(err error) error {
	var invalid *store.InvalidError
	if errors.As(err, &invalid) {
		return &lineError{r.line, invalid.Field, invalid.Message}
	}
	return &lineError{r.line, "", err.Error()}
}

// parse reads one object. Its text is checked as a whole first: a decoder would
// quietly replace what is no character.
func (r *lineReader) parse(raw []byte) (store.Request, error) {
	req := store.Request{Actor: r.actor}
	if raw[0] != '{' {
		return req, errors.New("is not a JSON object")
	}
	if err := store.CheckJSON("", raw, maxLineBytes); err != nil {
		var invalid *store.InvalidError
		if errors.As(err, &invalid) {
			return req, &store.InvalidError{Field: strings.TrimPrefix(invalid.Field, "."), Message: invalid.Message}
		}
		return req, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return req, fmt.Errorf("is not a JSON object: %w", err)
	}
	seen := map[string]bool{}
	for dec.More() {
		name, value, err := member(dec)
		if err != nil {
			return req, fmt.Errorf("is not a JSON object: %w", err)
		}
		if err = r.field(&req, name, value); err == nil && seen[name] {
			err = errors.New("is given more than once")
		}
		if err != nil {
			return req, &store.InvalidError{Field: name, Message: err.Error()}
		}
		seen[name] = true
	}
	if req.Kind == "" {
		return req, &store.InvalidError{Field: "kind", Message: "is required"}
	}
	return req, nil
}

// member reads the next name and its value.
func member(dec *json.Decoder) (name string, value json.RawMessage, err error) {
	token, err := dec.Token()
	if err != nil {
		return "", nil, err
	}
	name, _ = token.(string)
	return name, value, dec.Decode(&value)
}

const fieldNames = "kind, args, key, queue, priority, run_at, max_attempts and tags"

// field reads one member; null leaves it out.
func (r *lineReader) field(req *store.Request, name string, value json.RawMessage) error {
	if string(value) == "null" && name != "args" {
		value = nil
	}
	switch name {
	case "args":
		req.Args = value
		return nil
	case "kind":
		return text(&req.Kind, value)
	case "key":
		return text(&req.Key, value)
	case "queue":
		return text(&req.Queue, value)
	case "priority":
		n, err := whole(value, math.MinInt16, math.MaxInt16, 0)
		req.Priority = int16(n)
		return err
	case "max_attempts":
		n, err := whole(value, 1, store.MaxAttempts, 0)
		req.MaxAttempts = n
		return err
	case "run_at":
		return r.due(req, value)
	case "tags":
		if value != nil && json.Unmarshal(value, &req.Tags) != nil {
			return errors.New("must be a list of strings")
		}
		return nil
	}
	return fmt.Errorf("is not a field of a job; the fields are %s", fieldNames)
}

func text(to *string, value json.RawMessage) error {
	if value != nil && json.Unmarshal(value, to) != nil {
		return errors.New("must be a string")
	}
	return nil
}

func whole(value json.RawMessage, low, high, otherwise int) (int, error) {
	if value == nil {
		return otherwise, nil
	}
	var n int
	if json.Unmarshal(value, &n) != nil || n < low || n > high {
		return 0, fmt.Errorf("must be a whole number between %d and %d", low, high)
	}
	return n, nil
}

// due reads run_at. A delay counts on the database's clock, which is read once
// and carried on by the time that has passed here.
func (r *lineReader) due(req *store.Request, value json.RawMessage) error {
	if value == nil {
		return nil
	}
	var s string
	if err := text(&s, value); err != nil {
		return err
	}
	if !strings.HasPrefix(s, "+") {
		at, err := absoluteTime(s)
		req.RunAt = at
		return err
	}
	after, err := delay(s)
	req.RunAt = r.now.Add(time.Since(r.began) + after)
	return err
}
