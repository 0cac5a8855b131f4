package apiserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"glasswatch/internal/apiserver/openapi"
	"glasswatch/internal/apiserver/storage"
)

// Server is an API server in memory. Its methods may be called from any goroutine.
type Server struct {
	options  Options
	store    *storage.Store
	registry *registry
	faults   *Faults

	documents openapi.Service

	// namespaces keeps creations out of the last check of a terminating namespace. A creation holds it for reading,
	// from the check that its namespace is active until the object is stored.
	namespaces sync.RWMutex

	addresses addresses

	definitions sync.Mutex // held while the custom resources are being brought up to date

	janitor chan struct{} // capacity 1: a token means that there may be garbage

	mu      sync.Mutex // protects what follows
	address string     // of the listener that Serve was given last
	pipe    *PipeListener
}

// shutdownGrace is the time for answers that are on their way when Serve is told to stop.
const shutdownGrace = 250 * time.Millisecond

// New returns a server that holds the namespaces every cluster has. Nothing runs until Serve, or until requests come in
// through Handler.
func New(options Options) *Server {
	options = options.withDefaults()
	s := &Server{
		options: options,
		store:   storage.New(options.HistoryLimit),
		janitor: make(chan struct{}, 1),
	}
	s.registry = newRegistry()
	s.faults = newFaults(s)
	s.documents.Version = gitVersion
	s.describe()
	s.bootstrap()
	return s
}

// Revision is that of the last write to anything.
func (s *Server) Revision() int64 { return s.store.Revision() }

// Serve answers requests on l, in HTTP/1.1 or in HTTP/2 without TLS, collects garbage and empties deleted namespaces
// until ctx is done. It closes l, ends all watches, and returns when its goroutines have ended. The error is nil if ctx
// ended it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.remember(l)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var connections, helpers sync.WaitGroup
	handler := s.Handler()
	if s.options.Front != nil {
		handler = s.options.Front(handler)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Protocols:         protocols,
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: time.Minute,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				connections.Done()
			}
		},
	}
	helpers.Go(func() { s.Run(ctx) })
	helpers.Go(func() {
		<-ctx.Done() // ends the watches, too
		grace, cancel := context.WithTimeout(context.Background(), shutdownGrace)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(l)
	cancelled := ctx.Err() != nil
	cancel()
	helpers.Wait()
	connections.Wait()
	if cancelled && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Run does what Serve does besides answering requests: it collects garbage and empties deleted namespaces until ctx is
// done. Only programs that use Handler alone need it.
func (s *Server) Run(ctx context.Context) { s.clean(ctx) }
