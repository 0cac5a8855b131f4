package ondemand

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"glasswatch/sharedinformer"
)

const (
	maxBacklog   = 4096             // changes that a client may be behind. A batch has up to 1,000
	writeTimeout = 10 * time.Second // for one event: a client that does not read for so long is cut off
	heartbeat    = 15 * time.Second
)

// stream is one client's server-sent events. The handler's goroutine writes the events, and that of the request the
// rest.
type stream struct {
	w       http.ResponseWriter
	conn    *http.ResponseController
	cancel  context.CancelFunc // ends the request
	problem func(error) []byte

	turn   chan struct{} // protects w and synced; not a mutex, since tests in virtual time must see who waits
	synced bool
}

// Watch sends server-sent events until ctx ends: what there is as ADDED, then SYNCED, then each change. What the
// informer promises its handlers holds here: nothing is missed, nothing comes twice. A client that does not read is cut
// off. After a reconnect all begins anew. check is called again and again, for rights may be taken away: its error ends the
// stream, and so does the end of the kind. The last event is then ERROR, with what problem makes of the error.
func (k *Kind) Watch(
	ctx context.Context, w http.ResponseWriter, s Selection,
	check func(ctx context.Context) error, problem func(error) []byte,
) {
	ctx, cancel := context.WithCancel(ctx)
	conn := http.NewResponseController(w)
	out := &stream{w: w, conn: conn, cancel: cancel, problem: problem, turn: make(chan struct{}, 1)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	registration, err := k.AddHandler(sharedinformer.FilteringHandler[*Object]{FilterFunc: s.Wants, Handler: out},
		sharedinformer.HandlerOptions{Name: "watch", MaxBacklog: maxBacklog, ResyncPeriod: sharedinformer.NoResync})
	if err != nil {
		cancel()
		out.fail(err)
		return
	}
	// The handler writes to w, so the request must not end before it.
	defer func() { cancel(); _ = k.RemoveHandler(registration); <-registration.Done() }()
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	synced := registration.Synced()
	for {
		select {
		case <-synced:
			synced = nil
			out.sync()
		case <-registration.Done():
			err := registration.Err()
			if errors.Is(err, sharedinformer.ErrBacklog) {
				err = apierrors.NewResourceExpired(err.Error())
			}
			out.fail(err)
			return
		case <-tick.C: // rights may have been taken away, or the kind deleted
			err := check(ctx)
			if err == nil {
				err = k.Ready(ctx)
			}
			if err != nil {
				out.fail(err)
				return
			}
			out.write(": still here\n\n", true)
		case <-ctx.Done():
			return
		}
	}
}

// OnAdd, OnUpdate and OnDelete make a stream a handler.
func (s *stream) OnAdd(obj *Object, isInInitialList bool) {
	if !isInInitialList {
		s.sync()
	}
	s.event("ADDED", obj, !isInInitialList)
}

func (s *stream) OnUpdate(_, obj *Object) {
	s.sync()
	s.event("MODIFIED", obj, true)
}

func (s *stream) OnDelete(d sharedinformer.Deletion[*Object]) {
	s.sync()
	s.event("DELETED", d.Obj, true)
}

// sync says once that all that was there has been sent. It comes before the first change, whoever notices first.
func (s *stream) sync() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if !s.synced {
		s.synced = true
		s.writeLocked("event: SYNCED\ndata: {}\n\n", true)
	}
}

// fail is the last event. EventSource reconnects after it, and gets the error as an answer if it holds.
func (s *stream) fail(err error) {
	s.write(fmt.Sprintf("event: ERROR\ndata: %s\n\n", s.problem(err)), true)
}

// event has its object in one line, as the format wants it.
func (s *stream) event(kind string, obj *Object, flush bool) {
	s.write(fmt.Sprintf("event: %s\nid: %s\ndata: %s\n\n", kind, obj.ResourceVersion, obj.JSON()), flush)
}

func (s *stream) write(text string, flush bool) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.writeLocked(text, flush)
}

// writeLocked cuts a client off that does not read.
func (s *stream) writeLocked(text string, flush bool) {
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // the only error is that the connection has none
	_, err := s.w.Write([]byte(text))
	if err == nil && flush {
		err = s.conn.Flush()
	}
	if err != nil {
		s.cancel()
	}
}
