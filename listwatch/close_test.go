package listwatch

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// endless sends one event and then holds the connection.
func endless(t testing.TB, contentType string) http.Handler {
	event := encodeEvent(t, contentType, watch.Added, serviceV1("cart", "5"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(event)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}

func TestStream_CloseAndCancelWakeAWaitingNext(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		for _, cancelled := range []bool{false, true} {
			name := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[http2] + map[bool]string{false: " Close", true: " cancel"}[cancelled]
			t.Run(name, func(t *testing.T) {
				var asked requests
				server := httptest.NewUnstartedServer(asked.wrap(endless(t, protoType)))
				server.EnableHTTP2 = http2
				if http2 {
					server.StartTLS()
				} else {
					server.Start()
				}
				t.Cleanup(server.Close)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stream, err := servicesOf(t, configFor(t, server), Options{}).Watch(ctx, metav1.ListOptions{})
				require.NoError(t, err)
				_, err = stream.Next()
				require.NoError(t, err)
				assert.Equal(t, name[:8], asked.last().Proto)

				woken := make(chan error)
				go func() {
					_, err := stream.Next()
					woken <- err
				}()
				if cancelled {
					cancel()
					assert.Equal(t, context.Canceled, <-woken)
				} else {
					require.NoError(t, stream.Close())
					assert.Equal(t, ErrClosed, <-woken)
				}
				require.NoError(t, stream.Close())
			})
		}
	}
}

// serialBody is a body as some wrapping transports make it: its Close waits for a Read in progress.
type serialBody struct {
	io.ReadCloser
	mu sync.Mutex // one call at a time
}

func (b *serialBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ReadCloser.Read(p)
}

func (b *serialBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ReadCloser.Close()
}

type serialTransport struct {
	http.RoundTripper
	body **serialBody // of the last answer
}

func (s serialTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		*s.body = &serialBody{ReadCloser: resp.Body}
		resp.Body = *s.body
	}
	return resp, err
}

// Closing the body is not enough: the request must be cancelled, and first.
func TestStream_CloseWakesNextBelowAnyTransport(t *testing.T) {
	cfg := serve(t, endless(t, jsonType))
	var body *serialBody
	cfg.Transport = serialTransport{cfg.Transport, &body}
	opened, err := servicesOf(t, cfg, Options{}).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	watching := opened.(*puller[*corev1.Service])
	_, err = watching.Next()
	require.NoError(t, err)
	reading := &body.mu
	woken := make(chan error)
	go func() {
		_, err := watching.Next()
		woken <- err
	}()
	for reading.TryLock() { // till Next is in Read
		reading.Unlock()
		runtime.Gosched()
	}
	require.NoError(t, watching.Close())
	assert.Equal(t, ErrClosed, <-woken)
}

// In a bubble the time that passes is exact: with Next asleep for an hour, Close takes none.
func TestStream_CloseTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, stop := servePipe(endless(t, jsonType))
		defer stop()
		stream, err := servicesOf(t, cfg, Options{}).Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		_, err = stream.Next()
		require.NoError(t, err)
		var closedAt time.Time
		time.AfterFunc(time.Hour, func() {
			closedAt = time.Now()
			_ = stream.Close()
		})
		start := time.Now()
		_, err = stream.Next()
		assert.Equal(t, ErrClosed, err)
		assert.Equal(t, time.Hour, time.Since(start))
		assert.Equal(t, closedAt, time.Now())
	})
}

func TestStream_CloseFromManyGoroutines(t *testing.T) {
	client := servicesOf(t, serve(t, endless(t, jsonType)), Options{})
	for range 20 {
		stream, err := client.Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() { assert.NoError(t, stream.Close()) })
		}
		for err == nil {
			_, err = stream.Next()
		}
		group.Wait()
		assert.Equal(t, ErrClosed, err)
	}
}

// What has arrived but was not pulled when the owner lost interest is not delivered.
func TestStream_NothingIsDeliveredAfterClose(t *testing.T) {
	frame := encodeEvent(t, jsonType, watch.Added, serviceV1("cart", "5"))
	for _, cancelled := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		client := servicesOf(t, serve(t, answer(jsonType, slices.Concat(frame, frame))), Options{})
		stream, err := client.Watch(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		_, err = stream.Next()
		require.NoError(t, err)
		want := ErrClosed
		if cancelled {
			want = context.Canceled
			cancel()
		} else {
			require.NoError(t, stream.Close())
		}
		_, err = stream.Next()
		assert.Equal(t, want, err)
		cancel()
		require.NoError(t, stream.Close())
	}
}
