package listwatch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/listwatch/wire"
)

// A batch is what has arrived, up to what the first event may be made to wait for.
func TestStream_BatchIsWhatHasArrivedWhole(t *testing.T) {
	for _, contentType := range bothTypes {
		t.Run(contentType, func(t *testing.T) {
			var first, second []byte
			for range maxBatch + 2 {
				first = append(first, encodeEvent(t, contentType, watch.Modified, serviceV1("cart", "5"))...)
			}
			require.Less(t, len(first), 8<<10)
			second = encodeEvent(t, contentType, watch.Deleted, serviceV1("cart", "6"))
			half := len(second) / 2
			arrivals := io.MultiReader(bytes.NewReader(append(first, second[:half]...)), bytes.NewReader(second[half:]))
			stream := cannedStream(t, contentType, arrivals)
			room := make([]Event[*corev1.Service], 64)
			for _, want := range []int{maxBatch, 2, 1} {
				n, err := stream.NextBatch(room)
				require.NoError(t, err)
				require.Equal(t, want, n)
			}
			require.Equal(t, Deleted, room[0].Type)
			n, err := stream.NextBatch(room)
			require.Zero(t, n)
			require.Equal(t, io.EOF, err)
			require.NoError(t, stream.Close())
		})
	}
}

func TestStream_UnreadableEventInABatchComesAlone(t *testing.T) {
	for _, contentType := range bothTypes {
		t.Run(contentType, func(t *testing.T) {
			pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "cart"}}
			good := encodeEvent(t, contentType, watch.Modified, serviceV1("cart", "5"))
			bad := encodeEvent(t, contentType, watch.Modified, pod)
			stream := cannedStream(t, contentType, bytes.NewReader(slices.Concat(good, good, bad, good)))
			room := make([]Event[*corev1.Service], 8)
			n, err := stream.NextBatch(room)
			require.NoError(t, err)
			require.Equal(t, 2, n)
			n, err = stream.NextBatch(room)
			require.Zero(t, n)
			_, ok := errors.AsType[*ObjectError](err)
			require.True(t, ok, "%v", err)
			n, err = stream.NextBatch(room)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			require.NoError(t, stream.Close())
		})
	}
}

// cannedStream is a watch whose bytes come from a reader.
func cannedStream(t *testing.T, contentType string, from io.Reader) *puller[*corev1.Service] {
	format, err := wire.FormatOf(contentType)
	require.NoError(t, err)
	return streamOver(t.Context(), format, serviceCodec(t), from)
}

// endsAfter is a context that ends when it was asked so often.
type endsAfter struct {
	context.Context
	asked int
}

func (c *endsAfter) Err() error {
	if c.asked--; c.asked < 0 {
		return context.Canceled
	}
	return nil
}

func TestBatch_TakesNothingMoreOnceItsContextHasEnded(t *testing.T) {
	source := watch.NewFakeWithChanSize(4, false)
	var body []byte
	for range 4 {
		source.Modify(serviceV1("cart", "5"))
		body = append(body, encodeEvent(t, jsonType, watch.Modified, serviceV1("cart", "5"))...)
	}
	overHTTP := cannedStream(t, jsonType, bytes.NewReader(body))
	overHTTP.ctx = &endsAfter{t.Context(), 2}
	fromChannel := fromWatch[*corev1.Service](t.Context(), source)
	fromChannel.ctx = &endsAfter{t.Context(), 2}
	for _, stream := range []BatchStream[*corev1.Service]{fromChannel, overHTTP} {
		n, err := stream.NextBatch(make([]Event[*corev1.Service], 8))
		require.NoError(t, err)
		require.Equal(t, 2, n, "%T", stream)
		_, err = stream.NextBatch(make([]Event[*corev1.Service], 8))
		require.Equal(t, context.Canceled, err)
		require.NoError(t, stream.Close())
	}
}
