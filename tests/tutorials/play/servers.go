package play

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
)

// Refusing is the address of a machine on which nothing listens.
func (p *Play) Refusing() *rest.Config {
	refuse := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return &rest.Config{Host: "https://refusing", Dial: refuse, QPS: -1}
}

// Mute accepts connections, and neither reads nor writes.
func (p *Play) Mute() *rest.Config {
	accept := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		p.Cleanup(func() { _ = server.Close() })
		return client, nil
	}
	return &rest.Config{Host: "https://mute", Dial: accept, QPS: -1}
}

// Slow answers with an empty list of ConfigMaps, after a while.
func (p *Play) Slow(after time.Duration) *rest.Config {
	return p.serve(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(after):
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`))
		case <-r.Context().Done():
		}
	})
}

// Endless begins to answer at once, and goes on with a space each second.
func (p *Play) Endless() *rest.Config {
	return p.serve(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for {
			_, _ = w.Write([]byte(" "))
			w.(http.Flusher).Flush()
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return
			}
		}
	})
}

func (p *Play) serve(handler http.HandlerFunc) *rest.Config {
	listener := apiserver.NewPipeListener()
	server := &http.Server{Handler: handler}
	p.Go(func(ctx context.Context) {
		go func() {
			<-ctx.Done()
			_ = server.Close()
		}()
		_ = server.Serve(listener)
	})
	return apiserver.RESTConfigFor(listener)
}

// Ended says what ended a request that failed.
func Ended(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "the caller's context ended"
	}
	// net/http says it in its text only, and in one of three ways, for two timers of it run at the same time.
	for _, text := range []string{"Client.Timeout", "deadline exceeded", "request canceled"} {
		if strings.Contains(err.Error(), text) {
			return "Config.Timeout"
		}
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return err.Error()
}
