package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func TestShares_EachPodIsInOneOfThem(t *testing.T) {
	for _, n := range []int{0, 1, 5, 16, 50} {
		var pods, all []*corev1.Pod
		for range n {
			pods = append(pods, &corev1.Pod{})
		}
		for share := range shares(pods, 16) {
			require.NotEmpty(t, share)
			all = append(all, share...)
		}
		require.Equal(t, n, len(all))
		for i := range pods {
			require.Same(t, pods[i], all[i])
		}
	}
}

func TestWeather_TicketsHaveTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, began := weather{lasts: time.Second, rate: 100}, time.Now()
		require.True(t, w.turn(t.Context(), began, 0))
		require.Zero(t, time.Since(began))
		require.True(t, w.turn(t.Context(), began, 50))
		require.Equal(t, 500*time.Millisecond, time.Since(began))
		require.True(t, w.turn(t.Context(), began, 20), "late, but not too late")
		require.Equal(t, 500*time.Millisecond, time.Since(began))
		require.False(t, w.turn(t.Context(), began, 101), "it would be after the storm")

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.False(t, w.turn(ended, began, 90))
		require.Equal(t, 500*time.Millisecond, time.Since(began))
	})
}

func TestWeather_WithoutARateTicketsAreGoodUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, began := weather{lasts: time.Second}, time.Now()
		require.True(t, w.turn(t.Context(), began, 1_000_000))
		<-time.After(2 * time.Second)
		require.False(t, w.turn(t.Context(), began, 1_000_001))
		require.True(t, w.turn(t.Context(), began, 1), "one of the first two")
	})
}

// frame is an event as it is on the wire: its length, and a WatchEvent whose object is in an envelope.
func frame(t *testing.T, typ watch.EventType, pod *corev1.Pod) []byte {
	raw, err := pod.Marshal()
	require.NoError(t, err)
	object, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}).Marshal()
	require.NoError(t, err)
	event, err := (&metav1.WatchEvent{Type: string(typ), Object: runtime.RawExtension{Raw: append([]byte("k8s\x00"), object...)}}).Marshal()
	require.NoError(t, err)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...)
}

func TestReadFrames_CountsThePodsAndThenReadsWhenUpdatesWereSent(t *testing.T) {
	pod := podAt(1, "owner")
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(`{"f:` + sentAt + `":{}}`)}}
	updated := pod.DeepCopy()
	updated.Annotations[sentAt] = formatSentAt(time.Now().Add(-time.Second))
	end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}

	stream := bytes.Join([][]byte{
		frame(t, watch.Bookmark, &corev1.Pod{}), frame(t, watch.Added, pod), frame(t, watch.Added, updated), frame(t, watch.Bookmark, end),
		frame(t, watch.Modified, pod), frame(t, watch.Modified, updated), frame(t, watch.Bookmark, end),
	}, nil)
	h, synced := &handler{}, make(chan struct{})
	require.ErrorIs(t, readFrames(bytes.NewReader(stream), h, synced), io.EOF)
	select {
	case <-synced:
	default:
		require.Fail(t, "the bookmark was not seen")
	}
	require.EqualValues(t, 2, h.initial.Load())
	require.EqualValues(t, 1, h.updates.Load(), "only the one that says when it was sent")
	p50, _, _ := h.lateness()
	require.InDelta(t, time.Second, p50, float64(time.Minute))
	require.GreaterOrEqual(t, p50, time.Second)
}

func TestHandler_TakesTheLatenessOfEachUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &handler{}
		h.sent("")
		h.sent(fmt.Sprintf("%0*d", sentAtLength, 0))
		require.ErrorContains(t, waitFor(t, h, 1), "0 of 1 updates")
		for late := range 100 {
			h.sent(formatSentAt(time.Now().Add(-time.Duration(late+1) * time.Millisecond)))
			<-time.After(10 * time.Millisecond)
		}
		require.NoError(t, waitFor(t, h, 100))
		p50, p99, rate := h.lateness()
		require.Equal(t, 50*time.Millisecond, p50)
		require.Equal(t, 99*time.Millisecond, p99)
		require.InDelta(t, 100, rate, 0.001)
	})
}

func waitFor(t *testing.T, h *handler, n int) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return h.wait(ctx, n)
}
