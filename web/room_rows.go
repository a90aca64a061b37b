package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// row renders a job's row for a list: into is the selector of the list that
// takes the row in where it is new, empty when none should.
func (s *Server) row(ctx context.Context, j store.Job, now time.Time, into string) ([]byte, error) {
	var b bytes.Buffer
	if err := views.JobRow(s.urls, j, now).Render(ctx, &b); err != nil {
		return nil, fmt.Errorf("render a row: %w", err)
	}
	return aimed(b.Bytes(), into), nil
}

// aimed changes which list takes a row in. The row's own element comes first,
// before any text of a user.
func aimed(row []byte, into string) []byte {
	return bytes.Replace(row, []byte(`data-into="#rows"`), []byte(`data-into="`+html.EscapeString(into)+`"`), 1)
}

// listSelector finds the list that shows exactly this filter's first page: a
// browser's tabs share one stream, and each takes what is for it.
func listSelector(l views.List) string {
	return `#rows[data-want="` + cssText(l.Name()) + `"]`
}

// cssText writes a text so that it can stand in a quoted string of a selector.
func cssText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
}

// rowsRoom keeps the rows of one page of a list up to date, where they stand.
type rowsRoom struct {
	server *Server
	ids    []int64

	parts    map[int64]part
	position uint64
}

func (l *rowsRoom) follow(ctx context.Context, r *room) error {
	sub, err := l.server.cfg.Hub.Watch(ctx, l.ids, events.From{})
	if err != nil {
		return err
	}
	defer sub.Close()
	l.parts = make(map[int64]part, len(l.ids))
	r.ready()
	p := newPace(listPace)
	defer p.stop()
	changed := map[int64]bool{}
	for {
		select {
		case d, open := <-sub.C:
			if !open {
				return sub.Err()
			}
			for _, t := range d.Transitions {
				changed[t.JobID] = true
				p.ask()
			}
			l.position = max(l.position, d.Position)
			if !p.armed {
				r.move(l.position)
			}
		case <-r.wake:
			for _, id := range l.ids {
				changed[id] = true
			}
			p.ask()
		case <-p.due():
			began := time.Now()
			ids := make([]int64, 0, len(changed))
			for id := range changed {
				ids = append(ids, id)
			}
			clear(changed)
			if err := l.read(ctx, ids); err != nil {
				return err
			}
			r.show(l.all(), 0, l.position)
			p.did(began)
		}
	}
}

func (l *rowsRoom) all() []part {
	out := make([]part, 0, len(l.parts))
	for _, id := range l.ids {
		if p, ok := l.parts[id]; ok {
			out = append(out, p)
		}
	}
	return out
}

// read renders the rows of these jobs as they are now.
func (l *rowsRoom) read(ctx context.Context, ids []int64) error {
	now, err := l.server.clock.now(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		j, err := l.server.cfg.Store.Job(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		row, err := l.server.row(ctx, j, now, "")
		if err != nil {
			return err
		}
		l.parts[id] = part{name: decimal(id), html: row}
	}
	return nil
}
