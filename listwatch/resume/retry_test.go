package resume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"glasswatch/listwatch"
)

// step is what one Next of a scripted stream returns.
type step struct {
	ev  listwatch.Event[*corev1.Service]
	err error
}

// script is a ListerWatcher whose nth watch fails with an error, or plays its steps and then waits to be closed.
type script struct {
	watches  [][]step
	failures map[int]error
	asked    []metav1.ListOptions
	at       []time.Time
}

// List is for those who ask how far the server has come: far enough.
func (s *script) List(context.Context, metav1.ListOptions) (*listwatch.List[*corev1.Service], error) {
	return &listwatch.List[*corev1.Service]{ResourceVersion: "1000"}, nil
}

func (s *script) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[*corev1.Service], error) {
	n := len(s.asked)
	s.asked = append(s.asked, opts)
	s.at = append(s.at, time.Now())
	if err := s.failures[n]; err != nil {
		return nil, err
	}
	played := &scriptedStream{ctx: ctx, closed: make(chan struct{})}
	if n < len(s.watches) {
		played.steps = s.watches[n]
	}
	return played, nil
}

func (s *script) resumedAt() (versions []string) {
	for _, opts := range s.asked {
		versions = append(versions, opts.ResourceVersion)
	}
	return versions
}

type scriptedStream struct {
	ctx    context.Context
	steps  []step
	closed chan struct{}
}

func (s *scriptedStream) Next() (listwatch.Event[*corev1.Service], error) {
	if len(s.steps) > 0 {
		next := s.steps[0]
		s.steps = s.steps[1:]
		return next.ev, next.err
	}
	select {
	case <-s.closed:
		return listwatch.Event[*corev1.Service]{}, listwatch.ErrClosed
	case <-s.ctx.Done():
		return listwatch.Event[*corev1.Service]{}, s.ctx.Err()
	}
}

func (s *scriptedStream) Close() error {
	close(s.closed) // panics on a second Close: the retry stream closes each watch once
	return nil
}

func added(resourceVersion string) step {
	return step{ev: listwatch.Event[*corev1.Service]{Type: listwatch.Added, Object: serviceV1("s"+resourceVersion, resourceVersion), ResourceVersion: resourceVersion}}
}

func bookmarked(resourceVersion string) step {
	return step{ev: listwatch.Event[*corev1.Service]{Type: listwatch.Bookmark, ResourceVersion: resourceVersion}}
}

func failed(err error) step { return step{err: err} }

func retrying(t *testing.T, lw listwatch.ListerWatcher[*corev1.Service], opts metav1.ListOptions, onRetry func(error)) *Stream[*corev1.Service] {
	opts.ResourceVersion = "1"
	stream, err := NewStream(t.Context(), lw, opts, onRetry)
	require.NoError(t, err)
	return stream
}

func TestRetryStream_ResumesWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := apierrors.NewTooManyRequests("slow down", 5)
		bad := &listwatch.ObjectError{Type: listwatch.Modified, Key: listwatch.Key{Name: "x"}, ResourceVersion: "6", Err: errors.New("it has no name")}
		lw := &script{watches: [][]step{
			{added("2"), added("3"), failed(io.EOF)},
			{bookmarked("4"), failed(io.ErrUnexpectedEOF)},
			nil, // refused, see failures
			{added("5"), failed(bad), failed(apierrors.NewInternalError(io.EOF))},
			{added("7")},
		}, failures: map[int]error{2: busy}}
		var retried []error
		stream := retrying(t, lw, metav1.ListOptions{LabelSelector: "a=b"}, func(err error) { retried = append(retried, err) })
		start := time.Now()
		for _, want := range []string{"2", "3", "5", "bad", "7"} {
			ev, err := stream.Next()
			if want == "bad" {
				assert.Equal(t, error(bad), err)
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, want, ev.ResourceVersion)
		}
		assert.Equal(t, "7", stream.opts.ResourceVersion)
		assert.Equal(t, []string{"1", "3", "4", "4", "6"}, lw.resumedAt())
		var at []time.Duration
		for _, when := range lw.at {
			at = append(at, when.Sub(start))
		}
		assert.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 7 * time.Second, 8 * time.Second}, at)
		require.Len(t, retried, 4)
		assert.Equal(t, []error{io.EOF, io.ErrUnexpectedEOF, busy}, retried[:3])
		for _, opts := range lw.asked {
			assert.True(t, opts.AllowWatchBookmarks)
			assert.Equal(t, "a=b", opts.LabelSelector)
		}
		require.NoError(t, stream.Close())
		require.NoError(t, stream.Close())
		_, err := stream.Next()
		assert.Equal(t, listwatch.ErrClosed, err)
	})
}

// Some servers send a deletion with the version of the object that was deleted. To resume there would bring again what
// came since.
func TestRetryStream_AnOlderVersionDoesNotSetItBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deleted := added("2")
		deleted.ev.Type = listwatch.Deleted
		bad := &listwatch.ObjectError{Type: listwatch.Modified, ResourceVersion: "8", Err: errors.New("it has no name")}
		lw := &script{watches: [][]step{
			{added("9"), added("10"), deleted, failed(io.EOF)},
			{bookmarked("9"), failed(bad), failed(io.EOF)},
			{added("opaque"), failed(io.EOF)}, // cannot be compared: the order of delivery counts
			{added("11")},
		}}
		stream := retrying(t, lw, metav1.ListOptions{}, nil)
		for _, want := range []string{"9", "10", "2", "bad", "opaque", "11"} {
			ev, err := stream.Next()
			if want == "bad" {
				require.Equal(t, error(bad), err)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want, ev.ResourceVersion)
		}
		require.Equal(t, []string{"1", "10", "10", "opaque"}, lw.resumedAt())
		require.NoError(t, stream.Close())
	})
}

// A watch that lived longer than the floor is followed by the next at once.
func TestRetryStream_RestartsAtOnceAfterALongWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := &script{watches: [][]step{{added("2"), failed(io.EOF)}, {added("3")}}}
		stream := retrying(t, lw, metav1.ListOptions{}, nil)
		_, err := stream.Next()
		require.NoError(t, err)
		<-time.After(time.Minute)
		start := time.Now()
		_, err = stream.Next()
		require.NoError(t, err)
		assert.Zero(t, time.Since(start))
		require.NoError(t, stream.Close())
	})
}

func TestRetryStream_PassesBookmarksToThoseWhoAsk(t *testing.T) {
	lw := &script{watches: [][]step{{bookmarked("4")}}}
	stream := retrying(t, lw, metav1.ListOptions{AllowWatchBookmarks: true}, nil)
	ev, err := stream.Next()
	require.NoError(t, err)
	assert.Equal(t, listwatch.Bookmark, ev.Type)
	require.NoError(t, stream.Close())
}

func TestRetryStream_StopsAtWhatNoRestartMends(t *testing.T) {
	resource := schema.GroupResource{Resource: "services"}
	for _, final := range []error{
		apierrors.NewResourceExpired("too old"),
		&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonGone, Message: "gone"}},
		apierrors.NewForbidden(resource, "", nil),
		apierrors.NewUnauthorized("who?"),
		fmt.Errorf("%w: 17 MiB", listwatch.ErrFrameTooLarge),
	} {
		for _, lw := range []*script{
			{watches: [][]step{{failed(final)}}},
			{failures: map[int]error{0: final}},
		} {
			stream := retrying(t, lw, metav1.ListOptions{}, func(err error) { t.Errorf("retried: %v", err) })
			for range 2 {
				_, err := stream.Next()
				assert.Equal(t, final, err)
			}
			assert.Len(t, lw.asked, 1)
			require.NoError(t, stream.Close())
		}
	}
}

func TestRetryStream_CloseWakesAWaitingNext(t *testing.T) {
	for name, lw := range map[string]*script{
		"watching": {},
		"backing off": {failures: map[int]error{
			0: apierrors.NewTooManyRequests("slow down", 7200),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				stream := retrying(t, lw, metav1.ListOptions{}, nil)
				time.AfterFunc(time.Hour, func() { _ = stream.Close() })
				_, err := stream.Next()
				assert.Equal(t, listwatch.ErrClosed, err)
				assert.Equal(t, time.Hour, time.Since(start))
			})
		})
	}
}

func TestRetryStream_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stream, err := NewStream(ctx, &script{}, metav1.ListOptions{ResourceVersion: "1"}, nil)
		require.NoError(t, err)
		_, err = stream.Next()
		assert.Equal(t, context.DeadlineExceeded, err)
		require.NoError(t, stream.Close())
	})
}

// A watch that is established while the stream is closed belongs to nobody else: it must be closed too.
func TestRetryStream_CloseWhileConnectingLeaksNoWatch(t *testing.T) {
	established := &scriptedStream{ctx: t.Context(), closed: make(chan struct{})}
	var stream *Stream[*corev1.Service]
	stream = retrying(t, watchFunc(func() (listwatch.Stream[*corev1.Service], error) {
		require.NoError(t, stream.Close())
		return established, nil
	}), metav1.ListOptions{}, nil)
	_, err := stream.Next()
	assert.Equal(t, listwatch.ErrClosed, err)
	<-established.closed
}

type watchFunc func() (listwatch.Stream[*corev1.Service], error)

func (watchFunc) List(context.Context, metav1.ListOptions) (*listwatch.List[*corev1.Service], error) {
	return nil, errors.ErrUnsupported
}

func (w watchFunc) Watch(context.Context, metav1.ListOptions) (listwatch.Stream[*corev1.Service], error) {
	return w()
}

func TestNewRetryStream_NeedsAPlaceToResumeAt(t *testing.T) {
	for _, rv := range []string{"", "0"} {
		_, err := NewStream(t.Context(), &script{}, metav1.ListOptions{ResourceVersion: rv}, nil)
		assert.ErrorContains(t, err, "cannot resume")
	}
	yes := true
	_, err := NewStream(t.Context(), &script{}, metav1.ListOptions{ResourceVersion: "7", SendInitialEvents: &yes}, nil)
	assert.ErrorContains(t, err, "cannot resume")
}

// However watches break, every event is delivered once and in order.
func TestRetryStream_DeliversEveryEventOnce(t *testing.T) {
	breaks := []error{io.EOF, io.ErrUnexpectedEOF, apierrors.NewInternalError(io.EOF), apierrors.NewTimeoutError("late", 3)}
	const last = 20
	rapid.Check(t, func(rt *rapid.T) {
		lengths := append(rapid.SliceOf(rapid.IntRange(-1, 6)).Draw(rt, "events of each watch, -1 if refused"), last)
		how := rapid.SliceOfN(rapid.SampledFrom(breaks), len(lengths), len(lengths)).Draw(rt, "how each ends")
		var want, got []string
		for rv := 2; rv <= last; rv++ {
			if rv%3 != 0 {
				want = append(want, fmt.Sprint(rv))
			}
		}
		synctest.Test(t, func(t *testing.T) {
			var stream *Stream[*corev1.Service]
			watches := 0
			stream = retrying(t, watchFunc(func() (listwatch.Stream[*corev1.Service], error) {
				length, end := lengths[watches], how[watches]
				watches++
				if length < 0 {
					return nil, end
				}
				return &scriptedStream{ctx: t.Context(), closed: make(chan struct{}),
					steps: append(everyThirdABookmark(stream.opts.ResourceVersion, length, last), failed(end))}, nil
			}), metav1.ListOptions{}, nil)
			for range want {
				ev, err := stream.Next()
				if err != nil {
					break
				}
				got = append(got, ev.ResourceVersion)
			}
			_ = stream.Close()
		})
		require.Equal(rt, want, got)
	})
}

// everyThirdABookmark makes the events behind a resourceVersion, length of them if there are so many before last.
func everyThirdABookmark(after string, length, last int) (steps []step) {
	from, _ := strconv.Atoi(after)
	for rv := from + 1; rv <= min(last, from+length); rv++ {
		if rv%3 == 0 {
			steps = append(steps, bookmarked(fmt.Sprint(rv)))
		} else {
			steps = append(steps, added(fmt.Sprint(rv)))
		}
	}
	return steps
}
