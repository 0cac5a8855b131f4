package memserver

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is one watch: a goroutine that hands over one event after the other.
type stream struct {
	client  *Client
	result  chan watch.Event
	stop    sync.Once
	stopped chan struct{}

	// Guarded by the server's mutex.
	initial  []watch.Event // to be sent before anything else
	opened   time.Time
	at       int  // the revision up to which everything was sent
	bookmark bool // one is to be sent
	ended    bool
	status   error // to be sent as an ERROR event, if not nil, before the end
}

// ResultChan implements watch.Interface.
func (w *stream) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface. It does not wait for the goroutine.
func (w *stream) Stop() {
	w.stop.Do(func() { close(w.stopped) })
	w.end()
}

// end is a clean end, after what is on its way.
func (w *stream) end() {
	s := w.client.server
	s.mu.Lock()
	defer s.mu.Unlock()
	w.ended = true
	s.changed.Broadcast()
}

func (w *stream) run() {
	defer close(w.result)
	defer w.forget()
	for {
		event, ok := w.next()
		if !ok {
			return
		}
		select {
		case w.result <- event:
		case <-w.stopped:
			return
		}
	}
}

// next waits for the next event; false is the end.
func (w *stream) next() (watch.Event, bool) {
	s := w.client.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case w.ended:
			return watch.Event{}, false
		case w.status != nil:
			w.ended = true
			return statusEvent(w.status), true
		case len(w.initial) > 0:
			event := w.initial[0]
			w.initial = w.initial[1:]
			return event, true
		}
		at, found := slices.BinarySearchFunc(s.history, w.at+1, func(c change, revision int) int { return c.revision - revision })
		if found || at < len(s.history) {
			c := s.history[at]
			w.at = c.revision
			return watch.Event{Type: c.event, Object: c.obj.DeepCopy()}, true
		}
		if w.bookmark {
			w.bookmark = false
			w.at = s.revision
			return bookmarkAt(s.revision, false), true
		}
		s.changed.Wait()
	}
}

// forget takes the stream off its client's list.
func (w *stream) forget() {
	s := w.client.server
	s.mu.Lock()
	defer s.mu.Unlock()
	w.client.watches = slices.DeleteFunc(w.client.watches, func(other *stream) bool { return other == w })
}

func bookmarkAt(revision int, endsInitial bool) watch.Event {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(revision)}}
	if endsInitial {
		obj.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return watch.Event{Type: watch.Bookmark, Object: obj}
}

func statusEvent(err error) watch.Event {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	answer := status.Status()
	return watch.Event{Type: watch.Error, Object: &answer}
}
