package apiserver_test

import (
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
)

// stream opens a raw watch on the services from now on.
func (c *cluster) stream() io.ReadCloser {
	client, err := rest.HTTPClientFor(c.Config)
	require.NoError(c, err)
	url := c.Config.Host + "/api/v1/services?watch=true&resourceVersion=" + strconv.FormatInt(c.Revision(), 10)
	resp, err := client.Get(url)
	require.NoError(c, err)
	require.Equal(c, http.StatusOK, resp.StatusCode)
	c.Cleanup(func() { resp.Body.Close() })
	return resp.Body
}

func TestFaults_DroppedWatchesEndCleanlyAndBrokenOnesDoNot(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		body := c.stream()
		require.Equal(t, 1, c.Faults().DropWatches())
		_, err := io.ReadAll(body)
		require.NoError(t, err)

		body = c.stream()
		require.Equal(t, 1, c.Faults().BreakWatches())
		_, err = io.ReadAll(body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Zero(t, c.Faults().Watches())
	})
}

func TestFaults_ExpiredWatchesEndWithAnError(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		opts := metav1.ListOptions{ResourceVersion: strconv.FormatInt(c.Revision(), 10)}
		first, second := c.open(opts), c.open(opts)
		require.Equal(t, 2, c.Faults().ExpireWatches())
		for _, w := range []watch.Interface{first, second} {
			e := expect(t, w, "ERROR")
			require.True(t, apierrors.IsResourceExpired(apierrors.FromObject(e.Object)))
			expect(t, w, "end")
		}
	})
}

func TestFaults_ACutFrameEndsInTheMiddle(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		body := c.stream()
		c.Faults().CutNextFrame()
		c.create("a")
		got, err := io.ReadAll(body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Contains(t, string(got), `{"type":"ADDED","object":{"kind":"Service"`)
		require.NotContains(t, string(got), "\n")
	})
}

func TestFaults_AGarbledFrameLeavesTheStreamAlive(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		body := c.stream()
		c.Faults().GarbleNextFrame()
		var got []byte
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, err = io.ReadAll(body)
		}()
		c.create("a", "b")
		synctest.Wait()
		c.Faults().DropWatches()
		<-done
		require.NoError(t, err)
		require.Contains(t, string(got), `"garbage"`)
		require.NotContains(t, string(got), `"name":"a"`)
		require.Contains(t, string(got), `"name":"b"`)
	})
}

func TestFaults_FailuresHitWhatTheyMatchAsOftenAsAsked(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		c.Faults().FailNext(2, apiserver.Failure{Verb: "list", Resource: "services", Code: 429, RetryAfter: 7 * time.Second})
		_, err := c.services().Get(c.Context(), "kubernetes", metav1.GetOptions{})
		require.NoError(t, err, "another verb")
		for range 2 {
			got := c.raw("GET", "/api/v1/services", "")
			require.Equal(t, 429, got.code)
			require.Equal(t, "7", got.header.Get("Retry-After"))
			status := got.status(t)
			require.Equal(t, metav1.StatusReasonTooManyRequests, status.Reason)
			require.EqualValues(t, 7, status.Details.RetryAfterSeconds)
		}
		require.Equal(t, 200, c.raw("GET", "/api/v1/services", "").code)

		c.Faults().FailNext(-1, apiserver.Failure{Code: 403, Message: "not you"})
		for range 3 {
			_, err = c.services().List(c.Context(), metav1.ListOptions{})
			require.True(t, apierrors.IsForbidden(err), "%v", err)
			require.EqualError(t, err, "not you")
		}
		c.Faults().Reset()
		c.Faults().FailNext(1, apiserver.Failure{Code: 410})
		_, err = c.services().List(c.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsResourceExpired(err), "%v", err)
		require.Equal(t, 200, c.raw("GET", "/api/v1/services", "").code)

		c.Faults().FailNext(1, apiserver.Failure{})
		client, err := rest.HTTPClientFor(c.Config)
		require.NoError(t, err)
		resp, err := client.Post(c.Config.Host+"/api/v1/namespaces/default/services", "application/json", nil)
		if err == nil {
			resp.Body.Close()
		}
		require.Error(t, err, "the connection is torn")
	})
}

func TestFaults_ADelayPassesInVirtualTime(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		c.Faults().Delay(10 * time.Minute)
		begin := time.Now()
		c.raw("GET", "/api/v1/services", "")
		require.Equal(t, 10*time.Minute, time.Since(begin))
	})
}
