package web_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// event is one server-sent event as a browser would hand it on.
type event struct{ id, name, data string }

// stream is an open stream whose events are collected as they come.
type stream struct {
	t      *testing.T
	header http.Header
	cancel context.CancelFunc
	done   chan struct{} // closed when the server ended it

	mu     sync.Mutex
	events []event
	retry  []string
}

// follow opens a stream; header holds pairs.
func (c *console) follow(path string, header ...string) *stream {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.ctx)
	r, err := http.NewRequestWithContext(ctx, "GET", c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		c.t.Fatalf("%s: status %d: %s", path, resp.StatusCode, body)
	}
	s := &stream{t: c.t, header: resp.Header, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer resp.Body.Close()
		s.read(resp.Body)
	}()
	c.t.Cleanup(s.close)
	return s
}

func (s *stream) close() {
	s.cancel()
	<-s.done
}

// read parses as the specification of event streams says.
func (s *stream) read(body io.Reader) {
	var now event
	var data []string
	lines := bufio.NewReaderSize(body, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				now.data = strings.Join(data, "\n")
				s.add(now)
			}
			now, data = event{id: now.id}, nil
		case field == "event":
			now.name = value
		case field == "data":
			data = append(data, value)
		case field == "id":
			now.id = value
		case field == "retry":
			s.mu.Lock()
			s.retry = append(s.retry, value)
			s.mu.Unlock()
		case field != "":
			s.t.Errorf("a line that is no field: %q", line)
		}
	}
}

func (s *stream) add(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// all returns the events so far that have one of these names, or all.
func (s *stream) all(names ...string) []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []event
	for _, e := range s.events {
		if len(names) == 0 || contains(names, e.name) {
			out = append(out, e)
		}
	}
	return out
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

// await waits for an event that fits and returns it.
func (s *stream) await(what string, fits func(event) bool) event {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		for _, e := range s.all() {
			if fits(e) {
				return e
			}
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no event that %s; got %v", what, names(s.all()))
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func names(events []event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = e.name + "#" + e.id
	}
	return out
}

// patch fits a patch that holds all these texts.
func patch(texts ...string) func(event) bool {
	return func(e event) bool {
		if e.name != "patch" {
			return false
		}
		for _, t := range texts {
			if !strings.Contains(e.data, t) {
				return false
			}
		}
		return true
	}
}

func named(name string) func(event) bool {
	return func(e event) bool { return e.name == name }
}
