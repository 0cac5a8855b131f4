package apiserver

import (
	"net"

	"k8s.io/client-go/rest"
)

// RESTConfigFor returns a client configuration for a server that serves l: a loopback listener or a *PipeListener.
// The caller owns it. Client-side rate limiting is off.
func RESTConfigFor(l net.Listener) *rest.Config {
	config := &rest.Config{Host: "http://" + l.Addr().String(), QPS: -1}
	if pipe, ok := l.(*PipeListener); ok {
		config.Dial = pipe.DialContext
	}
	return config
}

// RESTConfigFor is the function of the same name, as a method.
func (s *Server) RESTConfigFor(l net.Listener) *rest.Config { return RESTConfigFor(l) }

// RESTConfig returns a client configuration for the listener that Serve was given last, or nil before Serve was called.
func (s *Server) RESTConfig() *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address == "" {
		return nil
	}
	config := &rest.Config{Host: "http://" + s.address, QPS: -1}
	if s.pipe != nil {
		config.Dial = s.pipe.DialContext
	}
	return config
}

func (s *Server) remember(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = l.Addr().String()
	s.pipe, _ = l.(*PipeListener)
}
