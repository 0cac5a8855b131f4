package cache

import (
	"context"
	"errors"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"glasswatch/compat/internal/undecoded"
	"glasswatch/listwatch"
)

// decodeAnswers has the bridge decode the server's answers itself. The closures still send the requests: to the native
// client they are its HTTP transport. What they decode themselves, as a fake clientset does, goes through the bridge.
// It returns false if the type cannot be decoded, and is left to the closures.
func (b *bridge) decodeAnswers(lw *undecoded.ListerWatcher) bool {
	native, err := listwatch.NewForType(&rest.Config{QPS: -1}, lw.Resource, b.expected, listwatch.Options{
		HTTPClient:     &http.Client{Transport: closureTransport{}},
		Decoder:        lw,
		WarningHandler: rest.NoWarnings{}, // the closures' client has handled them
	})
	if err == nil {
		b.native = native
	}
	return err == nil
}

// closureCall is one call of a closure.
type closureCall struct {
	ctx     context.Context // the caller's, which ends with the list or the watch
	send    func(ctx context.Context) (any, error)
	decoded any   // what it returned, if it has decoded the answer
	err     error // what it failed with
}

type closureCallKey struct{}

var errDecoded = errors.New("the answer is decoded already")

// asked has native read the answer to what send asks. The call says whether send has decoded it, or failed.
func asked[R any](ctx context.Context, send func(context.Context) (any, error), native func(context.Context) (R, error)) (R, *closureCall, error) {
	call := &closureCall{ctx: ctx, send: send}
	result, err := native(context.WithValue(ctx, closureCallKey{}, call))
	if call.err != nil {
		err = call.err // without what native puts around it
	}
	return result, call, err
}

// closureTransport is the transport of a client whose requests the closures send.
type closureTransport struct{}

// RoundTrip returns the answer to what the closure asks, in the place of req.
func (closureTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	call := req.Context().Value(closureCallKey{}).(*closureCall)
	ctx, cancel := context.WithCancel(call.ctx)
	unbind := context.AfterFunc(req.Context(), cancel) // closing the stream ends the request
	waiting, taken := context.WithCancel(ctx)
	defer taken()
	offering, offer := undecoded.With(ctx, taken)
	late := func(result any) {
		if w, ok := result.(watch.Interface); ok {
			context.AfterFunc(ctx, w.Stop) // it has nothing to tell, but may have goroutines
		}
	}
	result, err := interruptible(waiting, 0, func() (any, error) { return call.send(offering) }, late)
	if answer := offer.Answer(); answer != nil {
		if err == nil {
			late(result)
		}
		return answer, nil
	}
	if call.decoded, call.err = result, err; err != nil {
		return nil, err
	}
	unbind() // the request of a watch ends here, and the watch that the closure has decoded goes on
	return nil, errDecoded
}

// listUndecoded is list for a bridge that decodes answers.
func (b *bridge) listUndecoded(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[object], error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	send := func(ctx context.Context) (any, error) {
		from, err := b.lw.ListWithContext(ctx, opts)
		if from == nil && err == nil {
			err = errNoList
		}
		return from, err
	}
	list, call, err := asked(ctx, send, func(ctx context.Context) (*listwatch.List[object], error) {
		return b.native.List(ctx, opts)
	})
	if from, ok := call.decoded.(runtime.Object); ok {
		return b.listOf(from)
	}
	return list, err
}

// watchUndecoded is watch for a bridge that decodes answers.
func (b *bridge) watchUndecoded(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[object], error) {
	send := func(ctx context.Context) (any, error) {
		w, err := b.lw.WatchWithContext(ctx, opts)
		if w == nil && err == nil {
			err = errNoWatch
		}
		return w, err
	}
	stream, call, err := asked(ctx, send, func(ctx context.Context) (listwatch.Stream[object], error) {
		return b.native.Watch(ctx, opts)
	})
	if from, ok := call.decoded.(watch.Interface); ok {
		return newBridgeStream(ctx, b, from), nil
	}
	if err != nil {
		return nil, err
	}
	return undecodedStream{stream.(listwatch.BatchStream[object])}, nil
}

// undecodedStream ends as a watch of client-go does: what may be the end of a connection, is a clean end.
type undecodedStream struct {
	listwatch.BatchStream[object]
}

// Next implements listwatch.Stream.
func (s undecodedStream) Next() (listwatch.Event[object], error) {
	ev, err := s.BatchStream.Next()
	return ev, endOf(err)
}

// NextBatch implements listwatch.BatchStream.
func (s undecodedStream) NextBatch(into []listwatch.Event[object]) (int, error) {
	n, err := s.BatchStream.NextBatch(into)
	return n, endOf(err)
}

func endOf(err error) error {
	switch err.(type) {
	case nil, *listwatch.ObjectError, *apierrors.StatusError:
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err) {
		return io.EOF
	}
	return err
}

// decodesAnswers reports whether lw says that its informer is to decode the answers, and returns what is in it.
func decodesAnswers(lw ListerWatcher) (inner ListerWatcher, own *undecoded.ListerWatcher) {
	own, ok := lw.(*undecoded.ListerWatcher)
	if !ok {
		return lw, nil
	}
	return own.ListerWatcher, own
}
