package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// reader asks a console for pages, one after the other, and notes how long each
// took, from the request to its last byte.
type reader struct {
	base   string
	paths  []string
	cancel context.CancelFunc
	done   sync.WaitGroup
	took   []time.Duration
	bad    int
}

func read(ctx context.Context, base string, paths ...string) *reader {
	ctx, cancel := context.WithCancel(ctx)
	r := &reader{base: base, paths: paths, cancel: cancel}
	r.done.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			began := time.Now()
			if _, err := get(ctx, base+paths[i%len(paths)]); err == nil {
				r.took = append(r.took, time.Since(began))
			} else if len(r.took) > 0 && ctx.Err() == nil {
				r.bad++
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	return r
}

// get reads a page to its end and returns its length in bytes.
func get(ctx context.Context, url string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return n, err
}

// answer is a status and the beginning of what came with it.
func answer(ctx context.Context, method, url, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 300))
	return resp.Status + " " + strings.TrimSpace(string(text)), err
}

// ready waits until the console answers.
func ready(ctx context.Context, base string) error {
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err = get(ctx, base+"/healthz"); err == nil {
			return nil
		}
	}
	return err
}

func (r *reader) stop() []time.Duration {
	r.cancel()
	r.done.Wait()
	if r.bad > 0 {
		fmt.Printf("%d pages of %s failed\n", r.bad, r.base)
	}
	return r.took
}

func quantile(all []time.Duration, q float64) string {
	if len(all) == 0 {
		return "–"
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(q*float64(len(all))))].Round(100 * time.Microsecond).String()
}
