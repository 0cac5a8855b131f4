package lens

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"path"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/lens/beside"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
)

// bookmarkEvery is the time between bookmarks, unless a world wants another.
const bookmarkEvery = 20 * time.Second

// kindOf has the kinds that are watched.
var kindOf = map[string]string{"services": "Service", "ingresses": "Ingress"}

// These agents tell the requests of the informers from those of acts, which nothing delays.
const (
	pipelineAgent = "glasswatch-lens"
	besideAgent   = "glasswatch-lens-beside"
)

// sides tells by the agent whose request it is.
var sides = map[string]int{pipelineAgent: beside.Ours, besideAgent: beside.ClientGo}

// newServer makes the API server in memory, with the world in front of it.
func (w *World) newServer() *apiserver.Server {
	server := apiserver.New(apiserver.Options{
		BookmarkInterval: cmp.Or(time.Duration(w.options.Bookmark)*time.Millisecond, bookmarkEvery),
		Front:            w.front, OnFrame: w.sendFrame,
	})
	if err := server.SeedNamespaces(stormNamespace); err != nil {
		panic(err) // the server is empty, so the name is not taken
	}
	return server
}

// serve serves it in memory, over pipes in place of sockets, until the world ends.
func (w *World) serve() { w.running.Go(func() { _ = w.server.Serve(w.ctx, w.listener) }) }

// dial connects to the server. One that is down refuses, as an address without a listener does.
func (w *World) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if w.faults.isOn("stop") {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return w.listener.DialContext(ctx, network, address)
}

// ingressLag is how much later than Services Ingresses begin to come when both have lost their watches. Otherwise it
// would be chance which of the two the controller sees first, and a session would not come out the same again.
const ingressLag = 25 * time.Millisecond

// front stands before the API server. Some faults happen here.
func (w *World) front(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, isPipeline := sides[r.UserAgent()]
		if isPipeline && !w.faults.wait(r.Context(), "delay", "") || w.faults.isOn("stop") {
			panic(http.ErrAbortHandler)
		}
		if isPipeline && r.Method == http.MethodGet {
			if kindOf[path.Base(r.URL.Path)] == "Ingress" && !w.faults.isOn("cut") && !w.faults.isOn("token") {
				look.Pause(r.Context(), ingressLag, nil)
			}
			if w.beside != nil {
				w.beside.Opened()
			}
		}
		next.ServeHTTP(rw, r)
	})
}

// framePace is the time between two frames of a watch in virtual time. It is as short as can be, and yet the informer
// has done all with a frame before the next one comes. Otherwise it would be chance whether the per-key queue has two
// changes of a key together, and so which key is before another.
const framePace = time.Nanosecond

// sendFrame reports a frame of an informer's watch before it is sent. What came before it is sent at once if somebody
// steps, if frames are delayed, or in virtual time.
func (w *World) sendFrame(f apiserver.Frame) (send bool) {
	side, isPipeline := sides[f.Request.UserAgent()]
	if !isPipeline {
		return true
	}
	e := look.Event{At: look.Sent, Kind: kindOf[path.Base(f.Request.URL.Path)], Action: string(f.Type)}
	if obj, err := meta.Accessor(f.Object); err == nil {
		e.Key, e.RV = look.NameOf(listwatch.KeyOf(obj)), obj.GetResourceVersion()
	}
	if f.Type == watch.Error {
		e.Error = apierrors.FromObject(f.Object).Error()
	}
	if w.virtual || w.hub.Stepping() || w.faults.isOn("delay") {
		f.Flush()
	}
	ctx := f.Request.Context()
	if w.virtual {
		look.Pause(ctx, framePace, nil)
	}
	if !w.faults.wait(ctx, "delay", "") {
		return false
	}
	isLost := w.faults.isOn("drop") && e.Key != ""
	if isLost {
		e.Error = "lost on the way"
	}
	w.reportSent(side, e)
	if w.faults.isOn("stop") || w.faults.isOn("cut") { // meanwhile
		panic(http.ErrAbortHandler)
	}
	return !isLost
}

// reportSent tells who looks on. The hub is not told of what is sent to client-go's informers.
func (w *World) reportSent(side int, e look.Event) {
	if w.beside != nil && e.Key != "" {
		w.beside.Record(side, e)
	}
	if side == beside.Ours {
		w.hub.Report(e)
	}
}

// versions returns the server's own resourceVersion of a key, by the kinds of the world's informers, and the newest event then.
func (w *World) versions(key string) any {
	got := map[string]string{}
	for _, obj := range w.server.Objects() {
		if look.NameOf(listwatch.KeyOf(obj)) != key {
			continue
		}
		switch obj.(type) {
		case *corev1.Service:
			got["Service"] = obj.GetResourceVersion()
		case *networkingv1.Ingress:
			got["Ingress"] = obj.GetResourceVersion()
		}
	}
	return map[string]any{"versions": got, "seq": w.hub.Seq()}
}
