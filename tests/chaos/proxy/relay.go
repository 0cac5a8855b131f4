package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// relayBody passes on an answer that is no stream.
func (x *exchange) relayBody(resp *http.Response) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		x.tear()
	}
	x.w.WriteHeader(resp.StatusCode)
	if resp.StatusCode != http.StatusOK {
		x.write(body)
		return
	}
	f, ok := x.proxy.take(atList)
	if ok {
		x.proxy.fired(f.Kind)
	}
	switch {
	case ok && f.Kind == HalfFrame:
		x.write(body[:len(body)/2])
		x.tear()
	case ok && f.Kind == Garbage:
		x.write([]byte("\x00 garbage"))
		return
	case ok && f.Kind == Slow:
		piece := len(body)/4 + 1
		for len(body) > piece {
			x.write(body[:piece])
			body = body[piece:]
			x.pause(f.Pause)
		}
		x.write(body)
	default:
		x.write(body)
	}
	if token, err := continueToken(resp.Header.Get("Content-Type"), body); err == nil {
		x.listed(token)
	}
}

// relay passes a watch on. It belongs to the goroutine of its exchange.
type relay struct {
	*exchange
	framing framing
	slow    time.Duration
	slowFor int  // frames
	garbled bool // the client may have closed this watch

	held              []byte // a bookmark that comes late
	endsInitialEvents bool   // held does
	bookmark          []byte // the first of this watch
	duplicate         []byte // comes after the next event of another object
	of                string // the object of duplicate
}

// slowFrames is how many frames of a watch a Slow hits.
const slowFrames = 3

func (x *exchange) relayStream(resp *http.Response) {
	isProtobuf := strings.HasPrefix(resp.Header.Get("Content-Type"), runtime.ContentTypeProtobuf)
	r := &relay{exchange: x, framing: framing{isProtobuf}}
	x.w.WriteHeader(http.StatusOK)
	x.write(nil)
	if f, ok := x.proxy.take(atStream); ok {
		r.slow, r.slowFor = f.Pause, slowFrames
	}
	next := r.framing.reader(resp.Body)
	for {
		frame, err := next()
		switch {
		case err == io.EOF, errors.Is(context.Cause(x.ctx), errCleanEnd):
			return
		case err != nil:
			x.tear()
		}
		if !r.pass(frame) {
			return
		}
	}
}

// pass passes a frame on, with its fault if there is one. It returns false if the stream is to end.
func (r *relay) pass(frame []byte) bool {
	event, err := r.framing.event(frame)
	if err != nil {
		r.tear()
	}
	meta, err := r.framing.metaOf(event)
	switch {
	case err != nil || event.Type == string(watch.Error):
		r.send(frame)
	case meta.Annotations[metav1.InitialEventsAnnotationKey] == "true":
		r.passInitialEnd(frame)
	case event.Type == string(watch.Bookmark):
		r.passBookmark(frame)
	default:
		return r.passObject(frame, meta.Namespace+"/"+meta.Name)
	}
	return true
}

func (r *relay) passInitialEnd(frame []byte) {
	f, ok := r.proxy.take(atInitialEnd)
	switch {
	case !ok:
		r.send(frame)
		r.listed("")
	case f.Kind == NoInitialEnd:
		r.proxy.fired(f.Kind)
	case f.Variant%2 == 0:
		r.held, r.endsInitialEvents = frame, true
	default:
		r.proxy.fired(f.Kind)
		r.send(frame)
		r.send(frame)
		r.listed("")
	}
}

func (r *relay) passBookmark(frame []byte) {
	if r.held != nil {
		r.send(frame)
		r.release()
		return
	}
	f, ok := r.proxy.take(atBookmark)
	switch {
	case ok && f.Variant%3 == 0:
		r.held = frame
		return
	case ok && f.Variant%3 == 1 && r.bookmark != nil:
		r.proxy.fired(f.Kind)
		r.send(frame)
		r.send(r.bookmark)
	case ok:
		r.proxy.fired(f.Kind)
		r.send(frame)
		r.send(frame)
	default:
		r.send(frame)
	}
	if r.bookmark == nil {
		r.bookmark = frame
	}
}

// release sends the bookmark that was held back, after something that is newer.
func (r *relay) release() {
	if r.held == nil {
		return
	}
	r.proxy.fired(Bookmarks)
	r.send(r.held)
	if r.endsInitialEvents {
		r.listed("")
	}
	r.held, r.endsInitialEvents = nil, false
}

func (r *relay) passObject(frame []byte, of string) bool {
	f, ok := r.proxy.take(atObject)
	if ok && f.Kind != Duplicate {
		r.proxy.fired(f.Kind)
	}
	switch {
	case !ok:
	case f.Kind == HalfFrame:
		r.write(frame[:len(frame)/2])
		r.tear()
	case f.Kind == Garbage:
		garbage, isFramed := r.framing.garbage(f.Variant)
		instead := r.proxy.garble()
		r.garbled = true
		r.write(garbage)
		if !isFramed {
			return false // client-go would wait for the rest of what the length before a frame promises
		}
		if instead {
			return true
		}
	case f.Kind == Oversize:
		frame = r.framing.oversize(frame)
	}
	r.send(frame)
	if !r.garbled {
		r.proxy.cameThrough()
	}
	switch {
	case ok && f.Kind == Drop && f.Variant%3 == 1:
		return false
	case ok && f.Kind == Drop:
		r.tear()
	case ok && f.Kind == Duplicate && f.Variant%2 == 0:
		r.proxy.fired(f.Kind)
		r.send(frame)
	}
	r.after(of)
	if ok && f.Kind == Duplicate && f.Variant%2 != 0 {
		r.duplicate, r.of = frame, of
	}
	return true
}

// after sends what was to come after the event of an object.
func (r *relay) after(of string) {
	if r.duplicate != nil && r.of != of {
		r.proxy.fired(Duplicate)
		r.send(r.duplicate)
	}
	r.duplicate = nil
	r.release()
}

// send writes a frame, in two parts if the stream is slow.
func (r *relay) send(frame []byte) {
	if r.slowFor == 0 {
		r.write(frame)
		return
	}
	if r.slowFor == slowFrames {
		r.proxy.fired(Slow)
	}
	r.slowFor--
	r.write(frame[:len(frame)/3])
	r.pause(r.slow)
	r.write(frame[len(frame)/3:])
}

// garble reports whether garbage may come in the place of an event, and not only before one.
func (p *Proxy) garble() (instead bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	instead = !p.garbled
	p.garbled = true
	return instead
}

func (p *Proxy) cameThrough() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.garbled = false
}
