package listwatch

import (
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// The paragraph "Where client-go differs" in doc.go, exercised.

func TestDiffers_OneBadItemFailsClientGosList(t *testing.T) {
	cfg := serve(t, answer(jsonType, []byte(`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[
		{"metadata":{"namespace":"shop","name":"a"}},{"metadata":{"namespace":"shop","name":"b"},"spec":{"ports":"many"}}]}`)))
	_, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
	assert.ErrorContains(t, err, "cannot unmarshal string")
	list, err := servicesOf(t, cfg, Options{}).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, 1)
	assert.Len(t, list.Bad, 1)
}

func TestDiffers_OneBadEventEndsClientGosWatch(t *testing.T) {
	cfg := serve(t, answer(jsonType, slices.Concat(
		encodeRaw(t, jsonType, "ADDED", []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"b"},"spec":{"ports":"many"}}`)),
		encodeEvent(t, jsonType, watch.Added, serviceV1("cart", "5")))))
	theirs, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Services("").Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer theirs.Stop()
	var got []watch.EventType
	for ev := range theirs.ResultChan() {
		got = append(got, ev.Type)
	}
	assert.Equal(t, []watch.EventType{watch.Error}, got)

	ours, err := servicesOf(t, cfg, Options{}).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer ours.Close()
	_, err = ours.Next()
	_, bad := errors.AsType[*ObjectError](err)
	assert.True(t, bad, "%v", err)
	ev, err := ours.Next()
	require.NoError(t, err)
	assert.Equal(t, "cart", ev.Object.Name)
}

func TestDiffers_ClientGoRepeatsABusyRequestInsideOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		cfg, stop := servePipe(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		defer stop()
		clientset := kubernetes.NewForConfigOrDie(cfg)
		start := time.Now()
		_, err := clientset.CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
		assert.True(t, apierrors.IsTooManyRequests(err))
		assert.Equal(t, int32(11), asked.Load())
		assert.Equal(t, 20*time.Second, time.Since(start))

		asked.Store(0)
		start = time.Now()
		_, err = servicesOf(t, cfg, Options{}).List(t.Context(), metav1.ListOptions{})
		delay, _ := apierrors.SuggestsClientDelay(err)
		assert.Equal(t, 2, delay)
		assert.Equal(t, int32(1), asked.Load())
		assert.Zero(t, time.Since(start))
	})
}

func TestDiffers_ClientGosTimeoutCutsItsWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, stop := servePipe(endless(t, jsonType))
		defer stop()
		cfg.Timeout = 10 * time.Second
		start := time.Now()
		theirs, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Services("").Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for range theirs.ResultChan() {
		}
		assert.Equal(t, 10*time.Second, time.Since(start))

		ours, err := servicesOf(t, cfg, Options{}).Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		_, err = ours.Next()
		require.NoError(t, err)
		time.AfterFunc(time.Hour, func() { _ = ours.Close() })
		_, err = ours.Next()
		assert.Equal(t, ErrClosed, err)
	})
}
