package transform_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/transform"
)

// streaming is a server that knows streaming lists: one object, then the end of the list, then one more.
type streaming struct{}

func (streaming) List(context.Context, metav1.ListOptions) (*listwatch.List[*corev1.Pod], error) {
	return nil, errors.New("nobody should list in pages")
}

func (streaming) Watch(ctx context.Context, _ metav1.ListOptions) (listwatch.Stream[*corev1.Pod], error) {
	pod := func(name, version string) listwatch.Event[*corev1.Pod] {
		obj := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
		return listwatch.Event[*corev1.Pod]{Type: listwatch.Added, Object: obj, ResourceVersion: version}
	}
	return &streamed{ctx: ctx, events: []listwatch.Event[*corev1.Pod]{
		pod("a", "1"), {Type: listwatch.Bookmark, ResourceVersion: "2", InitialEventsEnd: true}, pod("b", "3"),
	}}, nil
}

type streamed struct {
	ctx    context.Context
	events []listwatch.Event[*corev1.Pod]
}

func (s *streamed) Next() (ev listwatch.Event[*corev1.Pod], err error) {
	if len(s.events) == 0 {
		<-s.ctx.Done()
		return ev, io.EOF
	}
	ev, s.events = s.events[0], s.events[1:]
	return ev, nil
}

func (s *streamed) Close() error { return nil }

func TestTransform_RunsOncePerObjectOnAStreamingList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		informer := sharedinformer.New[*corev1.Pod](streaming{}, sharedinformer.Options[*corev1.Pod]{
			Transform: transform.Chain(func(obj *corev1.Pod) (*corev1.Pod, error) { calls.Add(1); return obj, nil }),
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- informer.Run(ctx) }()
		synctest.Wait()
		require.True(t, informer.HasSynced())
		require.Equal(t, 2, informer.Store().Len())
		require.EqualValues(t, 2, calls.Load())
		cancel()
		require.NoError(t, <-done)
	})
}
