package apiserver

import (
	"context"
	"net"
	"sync"
)

// PipeListener is a net.Listener without a network: every DialContext makes a net.Pipe and hands one end to Accept. All
// waiting is on channels, so that client and server can run in one testing/synctest bubble. There a read from a socket
// would stop virtual time for ever.
type PipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// NewPipeListener returns an open listener. Call it inside the bubble in which it is used.
func NewPipeListener() *PipeListener {
	return &PipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// DialContext connects to the listener; network and address are ignored. It blocks until Accept takes the connection, ctx
// is done or the listener is closed. It fits http.Transport and rest.Config.
func (l *PipeListener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	var err error
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = client.Close()
	_ = server.Close()
	return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: pipeAddr{}, Err: err}
}

// Accept implements net.Listener.
func (l *PipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "pipe", Addr: pipeAddr{}, Err: net.ErrClosed}
	}
}

// Close implements net.Listener; calling it again does nothing.
func (l *PipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *PipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "apiserver.pipe" }
