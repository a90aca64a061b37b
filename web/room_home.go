package web

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/a-h/templ"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

const (
	listPace = 500 * time.Millisecond // between two readings of a page about many jobs
	idlePace = 15 * time.Second       // the same when nothing happens: windows move on by themselves
)

// reading is a page about many jobs: read whole whenever something happened
// somewhere, once for all who follow it.
type reading struct {
	server *Server
	read   func(ctx context.Context, s *Server) ([]part, error)
}

func (l *reading) follow(ctx context.Context, r *room) error {
	pulse := l.server.cfg.Hub.Pulse(listPace)
	defer pulse.Close()
	idle := time.NewTicker(idlePace)
	defer idle.Stop()
	p := newPace(listPace)
	defer p.stop()
	if _, err := l.server.cfg.Store.Horizon(ctx); err != nil {
		return err
	}
	r.ready()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pulse.C:
			p.ask()
		case <-idle.C:
			p.ask()
		case <-r.wake:
			p.ask()
		case <-p.due():
			began := time.Now()
			if err := l.show(ctx, r); err != nil {
				return err
			}
			p.did(began)
		}
	}
}

func (l *reading) show(ctx context.Context, r *room) error {
	// Before the reading, which therefore holds everything below it.
	position, err := l.server.cfg.Store.Horizon(ctx)
	if err != nil {
		return err
	}
	parts, err := l.read(ctx, l.server)
	if err != nil {
		return err
	}
	r.show(parts, 0, position)
	return nil
}

func readHome(ctx context.Context, s *Server) ([]part, error) {
	home, err := s.cfg.Store.Home(ctx)
	if err != nil {
		return nil, err
	}
	p := views.HomePage{Frame: s.patchFrame(ctx), Home: home}
	p.Now = home.Now
	return rendered(ctx, views.HomeParts(p))
}

// readRows reads the first page of a list, newest first; who shows another one
// follows its rows only.
func readRows(l views.List) func(context.Context, *Server) ([]part, error) {
	into, f := listSelector(l), l.Filter
	f.Order = store.OrderNewest
	return func(ctx context.Context, s *Server) ([]part, error) {
		page, err := s.cfg.Store.Jobs(ctx, f)
		if err != nil {
			return nil, err
		}
		now, err := s.clock.now(ctx)
		if err != nil {
			return nil, err
		}
		parts := make([]part, 0, len(page.Jobs))
		for i := len(page.Jobs) - 1; i >= 0; i-- { // the newest comes last, and so to the top
			row, err := s.row(ctx, page.Jobs[i], now, into)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part{name: decimal(page.Jobs[i].ID), html: row})
		}
		return parts, nil
	}
}

// scratch are buffers to render into: a part takes as much room as it has
// bytes, and what a buffer needs to grow to that is needed once.
var scratch = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// rendered renders components whole, each one part.
func rendered(ctx context.Context, components []templ.Component) ([]part, error) {
	b := scratch.Get().(*bytes.Buffer)
	defer scratch.Put(b)
	parts := make([]part, len(components))
	for i, component := range components {
		b.Reset()
		if err := component.Render(ctx, b); err != nil {
			return nil, fmt.Errorf("render a patch: %w", err)
		}
		parts[i] = part{name: strconv.Itoa(i), html: bytes.Clone(b.Bytes())}
	}
	return parts, nil
}
