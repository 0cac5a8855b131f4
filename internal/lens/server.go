package lens

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/listwatch/wire"
)

// backend runs the API server in memory, over pipes in place of sockets, and stands in front of it: frames of watches pass
// here on their way to the pipeline, and here the server is made to fail.
type backend struct {
	server *apiserver.Server
	api    http.Handler
	hub    *Hub
	faults *faults

	mu       sync.Mutex // protects what follows
	listener *apiserver.PipeListener
	stop     func() // nil while the server is down
}

func newBackend(hub *Hub) *backend {
	server := apiserver.New(apiserver.Options{BookmarkInterval: 20 * time.Second})
	if err := server.SeedNamespaces(stormNamespace); err != nil {
		panic(err) // the server is empty, so the name is not taken
	}
	return &backend{server: server, api: server.Handler(), hub: hub, faults: newFaults()}
}

// start lets clients connect.
func (b *backend) start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil {
		return
	}
	listener := apiserver.NewPipeListener()
	var connections sync.WaitGroup
	server := &http.Server{
		Handler: b, ReadHeaderTimeout: time.Minute,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				connections.Done()
			}
		},
	}
	connections.Go(func() { _ = server.Serve(listener) }) // it ends when the server is closed
	b.listener, b.stop = listener, func() {
		_ = server.Close()
		connections.Wait()
	}
}

// shutDown breaks all connections. What is stored stays.
func (b *backend) shutDown() {
	b.mu.Lock()
	stop := b.stop
	b.stop, b.listener = nil, nil
	b.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (b *backend) isUp() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stop != nil
}

// dial connects to the server. A server that is down refuses, as an address without a listener does.
func (b *backend) dial(ctx context.Context, network, address string) (net.Conn, error) {
	b.mu.Lock()
	listener := b.listener
	b.mu.Unlock()
	if listener != nil {
		conn, err := listener.DialContext(ctx, network, address)
		if err == nil || ctx.Err() != nil {
			return conn, err
		}
	}
	return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
}

// ServeHTTP gives a request to the API server, late if a fault wants it.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.UserAgent() == pipelineAgent {
		if !b.faults.delayed(r.Context()) {
			panic(http.ErrAbortHandler)
		}
		if isWatch(r) {
			resource, _ := target(r.URL.Path)
			control := http.NewResponseController(w)
			w = &watchWriter{ResponseWriter: w, control: control, backend: b, ctx: r.Context(), kind: kindOf[resource]}
		}
	}
	b.api.ServeHTTP(w, r)
}

// watchWriter passes on the frames of a watch. The API server writes each in one piece.
type watchWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	backend *backend
	ctx     context.Context
	kind    string
}

// Unwrap is for http.ResponseController.
func (w *watchWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write reports a frame before it is sent, and sends it at once if somebody steps.
func (w *watchWriter) Write(frame []byte) (int, error) {
	e := w.read(frame)
	if e.Action == "" { // no frame, but an error in place of the watch
		return w.ResponseWriter.Write(frame)
	}
	if !w.backend.faults.delayed(w.ctx) {
		return 0, w.ctx.Err()
	}
	if w.backend.faults.isOn("drop") && e.Key != "" {
		return len(frame), nil
	}
	stepping := w.backend.hub.stepping()
	if stepping {
		_ = w.control.Flush() // what came before it must not wait with it
	}
	w.backend.hub.report(w.ctx.Done(), e)
	n, err := w.ResponseWriter.Write(frame)
	if stepping && err == nil {
		err = w.control.Flush()
	}
	return n, err
}

// lengthSize is what stands before a protobuf frame.
const lengthSize = 4

// read finds out what a frame is about.
func (w *watchWriter) read(frame []byte) Event {
	e := Event{At: Sent, Kind: w.kind}
	contentType := w.Header().Get("Content-Type")
	format, err := wire.FormatOf(contentType)
	if err != nil {
		return e
	}
	if !strings.Contains(contentType, "json") {
		frame = frame[min(lengthSize, len(frame)):]
	}
	typ, object, err := format.Event(frame)
	key, version := object.Key()
	e.Action, e.Key, e.RV = typ, nameOf(key), version
	if err != nil {
		e.Error = err.Error()
	}
	return e
}

// kindOf has the kinds whose resources events name.
var kindOf = map[string]string{"services": "Service", "ingresses": "Ingress", "events": "Event"}

// target reads a path such as /apis/networking.k8s.io/v1/namespaces/default/ingresses/web.
func target(path string) (resource string, key listwatch.Key) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 3 {
		return "", key
	}
	if parts = parts[2:]; strings.HasPrefix(path, "/apis/") {
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		key.Namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 1 {
		key.Name = parts[1]
	}
	if len(parts) == 0 {
		return "", key
	}
	return parts[0], key
}

func isWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return r.Method == http.MethodGet && (watch == "true" || watch == "1")
}
