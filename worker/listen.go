package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgxlisten"

	"github.com/fenceline/fenceline/store"
)

const (
	reconnectDelay = time.Second
	probeEvery     = 10 * time.Second
	probePatience  = 5 * time.Second
)

// listen wakes the queues when the database announces work. A lost
// announcement costs latency and nothing else: the queues also poll.
func (p *Pool) listen(ctx context.Context) {
	for ctx.Err() == nil {
		session, abandon := context.WithCancel(ctx)
		heard := make(chan struct{}, 1)
		own := "fenceline_probe_" + p.id[len(p.id)-freshLetters:]
		l := p.listener(ctx)
		l.Handle(store.ChannelWork, announcements{p, heard})
		l.Handle(own, announcements{nil, heard})
		var probing sync.WaitGroup
		probing.Go(func() {
			defer abandon()
			p.probe(session, own, heard)
		})
		l.Listen(session)
		probing.Wait()
	}
}

func (p *Pool) listener(ctx context.Context) *pgxlisten.Listener {
	return &pgxlisten.Listener{
		Connect: func(ctx context.Context) (*pgx.Conn, error) {
			conn, err := pgx.ConnectConfig(ctx, p.store.ListenConfig())
			if err == nil {
				p.meter.Listening(true)
			}
			return conn, err
		},
		LogError: func(_ context.Context, err error) {
			if ctx.Err() == nil {
				p.meter.Listening(false)
				p.complain("listen", err)
			}
		},
		ReconnectDelay: reconnectDelay,
	}
}

// probe returns when the listening connection looks alive but delivers nothing:
// waiting for a notification is a plain read, which notices no such thing.
func (p *Pool) probe(ctx context.Context, own string, heard <-chan struct{}) {
	for pause(ctx, probeEvery) {
		select {
		case <-heard:
			continue
		default:
		}
		if err := p.store.Notify(ctx, own, ""); err != nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-heard:
		case <-time.After(probePatience):
			p.complain("listen", errSilent)
			return
		}
	}
}

var errSilent = errors.New("the listening connection delivers nothing; opening another")

// announcements are handled on the listening connection, so they only signal.
type announcements struct {
	pool  *Pool // nil for the probe's own channel
	heard chan<- struct{}
}

func (a announcements) HandleNotification(context.Context, *pgconn.Notification, *pgx.Conn) error {
	select {
	case a.heard <- struct{}{}:
	default:
	}
	if a.pool != nil {
		a.pool.wake()
	}
	return nil
}

// HandleBacklog covers what was announced while nobody listened.
func (a announcements) HandleBacklog(context.Context, string, *pgx.Conn) error {
	if a.pool != nil {
		a.pool.wake()
	}
	return nil
}
