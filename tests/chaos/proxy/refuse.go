package proxy

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// refuse answers a request in the server's place, or not at all.
func (x *exchange) refuse(f Fault) {
	x.proxy.fired(f.Kind)
	switch f.Kind {
	case Drop:
		x.tear()
	case Expired:
		x.expire(f.Variant)
	case TooMany:
		seconds := max(int(f.Pause/time.Second), 1)
		x.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		x.status(apierrors.NewTooManyRequests("slow down", seconds).Status())
	case Internal:
		x.status(apierrors.NewInternalError(errTorn).Status())
	case BadGateway:
		http.Error(x.w, "<html>502 Bad Gateway</html>", http.StatusBadGateway)
	case Unavailable:
		if f.Variant%2 == 0 {
			http.Error(x.w, "no healthy upstream", http.StatusServiceUnavailable)
			return
		}
		x.status(apierrors.NewServiceUnavailable("starting").Status())
	}
}

// expire answers 410, or as servers answer a watch: with an event.
func (x *exchange) expire(variant int) {
	gone := apierrors.NewResourceExpired("too old resource version: 1 (2)").Status()
	if x.isWatch() && variant%2 == 0 {
		gone.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		f := x.begin()
		x.write(f.encode(watch.Error, &gone))
		return
	}
	x.status(gone)
}

// rewind refuses a request with a version or a token from before the restore.
func (x *exchange) rewind() {
	p := x.proxy
	p.mu.Lock()
	p.rewinds++
	variant := p.rewinds
	p.mu.Unlock()
	p.fired(Rewound)
	asked, err := strconv.ParseInt(x.query.Get("resourceVersion"), 10, 64)
	if x.isWatch() && variant%3 == 0 && p.opts.Version != nil && err == nil && p.opts.Version() < asked {
		old := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
		old.ResourceVersion = strconv.FormatInt(p.opts.Version(), 10)
		f := x.begin()
		x.write(f.encode(watch.Bookmark, old))
		x.pause(time.Minute) // the client should know better by then
		return
	}
	x.expire(variant)
}

func (x *exchange) status(s metav1.Status) {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, _ := json.Marshal(s) // cannot fail
	x.w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	x.w.WriteHeader(int(s.Code))
	_, _ = x.w.Write(body)
}

// begin answers a watch instead of the server, in the client's encoding.
func (x *exchange) begin() framing {
	f := framing{protobuf: strings.HasPrefix(x.r.Header.Get("Accept"), runtime.ContentTypeProtobuf)}
	x.w.Header().Set("Content-Type", f.contentType())
	x.w.WriteHeader(http.StatusOK)
	return f
}
