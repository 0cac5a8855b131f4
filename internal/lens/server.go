package lens

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/lens/beside"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch/wire"
)

// bookmarkEvery is the time between bookmarks, unless a world wants another.
const bookmarkEvery = 20 * time.Second

func newServer(options Options) *apiserver.Server {
	interval := cmp.Or(time.Duration(options.Bookmark)*time.Millisecond, bookmarkEvery)
	server := apiserver.New(apiserver.Options{BookmarkInterval: interval})
	if err := server.SeedNamespaces(stormNamespace); err != nil {
		panic(err) // the server is empty, so the name is not taken
	}
	return server
}

// serve runs the API server in memory, over pipes in place of sockets, and stands in front of it.
func (w *World) serve() {
	var connections sync.WaitGroup
	front := &http.Server{
		Handler: http.HandlerFunc(w.front), ReadHeaderTimeout: time.Minute,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew: // while Serve runs
				connections.Add(1)
			case http.StateClosed:
				connections.Done()
			}
		},
	}
	w.running.Go(func() { w.server.Run(w.ctx) })
	w.running.Go(func() {
		_ = front.Serve(w.listener) // until it is closed
		connections.Wait()
	})
	context.AfterFunc(w.ctx, func() { _ = front.Close() })
}

// dial connects to the server. One that is down refuses, as an address without a listener does.
func (w *World) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if w.faults.isOn("stop") {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return w.listener.DialContext(ctx, network, address)
}

// front gives a request to the API server. Some faults happen here, and frames of watches pass.
func (w *World) front(rw http.ResponseWriter, r *http.Request) {
	side, pipeline := sides[r.UserAgent()]
	if pipeline && !w.faults.wait(r.Context(), "delay", "") || w.faults.isOn("stop") {
		panic(http.ErrAbortHandler)
	}
	kind := kindOf[path.Base(r.URL.Path)]
	if pipeline && kind == "Ingress" && r.Method == http.MethodGet && !w.faults.isOn("cut") && !w.faults.isOn("token") {
		look.Pause(r.Context(), ingressLag, nil)
	}
	if pipeline && w.beside != nil && r.Method == http.MethodGet {
		w.beside.Opened()
	}
	if pipeline && r.URL.Query().Get("watch") != "" {
		rw = &watchWriter{rw, http.NewResponseController(rw), w, r.Context(), kind, side, nil}
	}
	w.api.ServeHTTP(rw, r)
}

// watchWriter passes on the frames of a watch. The API server writes each in one piece.
type watchWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	world   *World
	ctx     context.Context
	kind    string
	side    int         // of the package beside
	format  wire.Format // nil before the first frame
}

// ingressLag is how much later than Services Ingresses begin to come when both have lost their watches. Otherwise it
// would be chance which of the two the controller sees first, and a session would not come out the same again.
const ingressLag = 25 * time.Millisecond

// Unwrap is for http.ResponseController.
func (w *watchWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// framePace is the time between two frames of a watch in virtual time. It is as short as can be, and yet the informer
// has done all with a frame before the next one comes. Otherwise it would be chance whether the per-key queue has two
// changes of a key together, and so which key is before another.
const framePace = time.Nanosecond

// Write reports a frame before it is sent, and sends it at once if somebody steps, or in virtual time.
func (w *watchWriter) Write(frame []byte) (int, error) {
	e := w.read(frame)
	if e.Action == "" { // no frame, but an error in place of the watch
		return w.ResponseWriter.Write(frame)
	}
	faults := w.world.faults
	if !faults.wait(w.ctx, "delay", "") {
		return 0, w.ctx.Err()
	}
	if faults.isOn("drop") && e.Key != "" {
		e.Error = "lost on the way"
		w.report(e)
		return len(frame), nil
	}
	alone := w.world.virtual || w.world.hub.Stepping()
	if alone {
		_ = w.control.Flush() // what came before it must not wait with it
	}
	w.report(e)
	if faults.isOn("stop") || faults.isOn("cut") { // meanwhile
		panic(http.ErrAbortHandler)
	}
	n, err := w.ResponseWriter.Write(frame)
	if alone && err == nil {
		err = w.control.Flush()
	}
	if w.world.virtual {
		look.Pause(w.ctx, framePace, nil)
	}
	return n, err
}

// report tells who looks on. The hub is not told of what is sent to client-go's informers.
func (w *watchWriter) report(e look.Event) {
	if b := w.world.beside; b != nil && e.Key != "" {
		b.Record(w.side, e)
	}
	if w.side == beside.Ours {
		w.world.hub.Report(e)
	}
}

// lengthSize is what stands before a protobuf frame.
const lengthSize = 4

// read finds out what a frame is about.
func (w *watchWriter) read(frame []byte) look.Event {
	contentType := w.Header().Get("Content-Type")
	if w.format == nil {
		var err error
		if w.format, err = wire.FormatOf(contentType); err != nil {
			return look.Event{}
		}
	}
	if !strings.Contains(contentType, "json") {
		frame = frame[min(lengthSize, len(frame)):]
	}
	typ, object, err := w.format.Event(frame)
	key, version := object.Key()
	e := look.Event{At: look.Sent, Kind: w.kind, Action: typ, Key: look.NameOf(key), RV: version}
	if err != nil {
		e.Error = err.Error()
	}
	return e
}

// These agents tell the requests of the informers from those of acts, which nothing delays.
const (
	pipelineAgent = "glasswatch-lens"
	besideAgent   = "glasswatch-lens-beside"
)

// sides tells by the agent whose request it is.
var sides = map[string]int{pipelineAgent: beside.Ours, besideAgent: beside.ClientGo}

// kindOf has the kinds that are watched.
var kindOf = map[string]string{"services": "Service", "ingresses": "Ingress"}
