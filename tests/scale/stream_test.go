package scale

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// watch opens a stream. It is served in a goroutine, which ends with the stream.
func (l *link) watch(req *http.Request) (*http.Response, error) {
	opening, cancel := context.WithTimeout(req.Context(), transportTimeout)
	defer cancel()
	if err := l.Do(opening, list, func(bool) {}); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(req.Context())
	in, out := io.Pipe()
	w := &streamWriter{out: out, header: http.Header{}, begun: make(chan int, 1)}
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	context.AfterFunc(ctx, func() { _ = out.CloseWithError(errCut) })
	l.held.Go(func() {
		defer stop()
		l.server.ServeHTTP(w, req.Clone(ctx))
		w.WriteHeader(http.StatusOK)
		_ = out.Close()
	})
	l.held.Go(func() {
		select {
		case <-cut:
			stop()
		case <-ctx.Done():
		}
	})
	return &http.Response{
		StatusCode: <-w.begun, Header: w.header, Request: req, ProtoMajor: 1, ProtoMinor: 1,
		Body: &stream{ReadCloser: in, link: l, stop: stop, ctx: ctx},
	}, nil
}

// streamWriter writes a watch into a pipe.
type streamWriter struct {
	out    *io.PipeWriter
	header http.Header
	once   sync.Once
	begun  chan int
}

func (w *streamWriter) Header() http.Header { return w.header }
func (w *streamWriter) Flush()              {}
func (w *streamWriter) WriteHeader(code int) {
	w.once.Do(func() { w.begun <- code })
}

func (w *streamWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(b)
}

// stream is a watch that can stall.
type stream struct {
	io.ReadCloser
	link *link
	ctx  context.Context
	stop func()
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	s.link.mu.Lock()
	stalled := s.link.fault.stallWatch
	if stalled {
		s.link.tally.fire(watchStalled)
	}
	s.link.mu.Unlock()
	if stalled { // until Set breaks it
		<-s.ctx.Done()
		return 0, errCut
	}
	return n, err
}

func (s *stream) Close() error {
	s.stop()
	return s.ReadCloser.Close()
}
