package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"glasswatch/compat/internal/undecoded"
	"glasswatch/listwatch"
)

// decodeAnswers has the bridge decode the server's answers itself. The closures still send the requests, and the native
// client only reads. What they decode themselves, as a fake clientset does, goes through the bridge. It returns false if
// the type cannot be decoded, and is left to the closures.
func (b *bridge) decodeAnswers(lw *undecoded.ListerWatcher) bool {
	native, err := listwatch.NewForType(&rest.Config{}, lw.Resource, b.expected, listwatch.Options{Decoder: lw.Sharing})
	if err == nil {
		b.native = native
	}
	return err == nil
}

// answerTo calls a closure with a context that ends with ctx. It returns the answer of the server, if the closure has
// not decoded it, and otherwise what the closure has returned.
func answerTo[R any](ctx context.Context, send func(context.Context) (R, error)) (*http.Response, R, error) {
	waiting, taken := context.WithCancel(ctx)
	defer taken()
	offering, offer := undecoded.With(ctx, taken)
	late := func(result R) {
		if w, ok := any(result).(watch.Interface); ok {
			context.AfterFunc(ctx, w.Stop) // it has nothing to tell, but may have goroutines
		}
	}
	result, err := interruptible(waiting, 0, func() (R, error) { return send(offering) }, late)
	answer := offer.Answer()
	if answer == nil {
		return nil, result, err
	}
	if err == nil {
		late(result)
	}
	return answer, result, nil
}

// listUndecoded is list for a bridge that decodes answers.
func (b *bridge) listUndecoded(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[object], error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, from, err := answerTo(ctx, func(ctx context.Context) (runtime.Object, error) {
		return b.lw.ListWithContext(ctx, opts)
	})
	switch {
	case err != nil:
		return nil, err
	case answer == nil:
		return b.listOf(from)
	}
	defer answer.Body.Close()
	body := &brokenBody{ReadCloser: answer.Body}
	answer.Body = body
	list, err := b.native.ReadList(answer)
	if body.err != nil {
		return nil, body.err
	}
	return list, err
}

// brokenBody notes the error that ends it, as client-go words it. nil: none, or a clean end.
type brokenBody struct {
	io.ReadCloser
	err error
}

func (b *brokenBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if _, reset := err.(http2.StreamError); reset {
		b.err = fmt.Errorf("stream error when reading response body, may be caused by closed connection. Please retry. Original error: %w", err)
	} else if err != nil && err != io.EOF {
		b.err = fmt.Errorf("unexpected error when reading response body. Please retry. Original error: %w", err)
	}
	return n, err
}

// watchUndecoded is watch for a bridge that decodes answers.
func (b *bridge) watchUndecoded(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[object], error) {
	asking, cancel := context.WithCancelCause(ctx)
	answer, w, err := answerTo(asking, func(ctx context.Context) (watch.Interface, error) {
		return b.lw.WatchWithContext(ctx, opts)
	})
	if answer != nil {
		stream, err := b.native.ReadWatch(asking, cancel, answer)
		if err != nil {
			return nil, err
		}
		return undecodedStream{stream.(listwatch.BatchStream[object])}, nil
	}
	if err == nil && w == nil {
		err = errNoWatch
	}
	if err != nil {
		cancel(err)
		return nil, err
	}
	stream := newBridgeStream(ctx, b, opts, w)
	forget := stream.forget
	stream.forget = func() bool { cancel(nil); return forget() }
	return stream, nil
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
