package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/views"
)

// Server serves the console and the API.
type Server struct {
	cfg   Config
	urls  views.URLs
	hosts map[string]bool
	echo  *echo.Echo

	sessions *scs.SessionManager // nil where nobody signs in
	forgery  *http.CrossOriginProtection
	clock    clock
	lobby    *lobby
	probes   Probes
	traffic  *traffic
	streams  atomic.Int64
	refusals refusals
	meter    meter

	closing   chan struct{} // closed when shutdown begins
	closeOnce sync.Once
}

// New makes a server. The error is a sentence about the configuration.
func New(cfg Config) (*Server, error) {
	if cfg.Store == nil || cfg.Hub == nil {
		return nil, errors.New("the web server needs a store and a hub")
	}
	prefix, err := CheckPrefix(cfg.Prefix)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg.withDefaults(), urls: views.URLs{Base: prefix, Trace: cfg.TraceURL}, hosts: allowed(cfg.Hosts),
		forgery: http.NewCrossOriginProtection(), closing: make(chan struct{}),
	}
	s.probes = Probes{Store: cfg.Store, Hub: cfg.Hub, Metrics: s.cfg.gatherer(), Version: cfg.Version, Closing: s.closing, started: time.Now()}
	s.measure()
	s.clock.read = s.cfg.Store.Clock
	if s.cfg.SignIn != nil {
		s.sessions = newSessions(s.cfg.Store, s.cfg.SignIn, prefix)
	}
	s.refusals.now, s.meter.now = time.Now, time.Now
	s.lobby = newLobby(s)
	s.echo = s.router()
	return s, nil
}

// Handler serves every route, at the root and, when there is a prefix, under
// it too: a proxy may strip the prefix or leave it.
func (s *Server) Handler() http.Handler { return s.echo }

// Run serves on the listener until ctx ends and then shuts down: streams end
// at once with a hint when to come back, requests get the grace time to
// finish. It returns nil after a shutdown in time, and closes the listener in
// every case.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	server := s.httpServer()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		s.Close()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Grace)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests did not finish within %s: %w", s.cfg.Grace, err), server.Close())
	}
	<-failed
	return err
}

func (s *Server) httpServer() *http.Server {
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      45 * time.Second, // streams renew their own with each write
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          s.serverLog(),
	}
	server.RegisterOnShutdown(s.Close)
	return server
}

// Close ends every stream at once and lets none begin. Requests go on. It is
// what [Server.Run] does first on its way out; call it when something else
// serves the handler. Repeats do nothing.
func (s *Server) Close() {
	s.closeOnce.Do(func() { close(s.closing) })
	s.cfg.Hub.Close()
}
