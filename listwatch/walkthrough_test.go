package listwatch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
)

// shop is a server with two services and a history of one watch, written down as it goes over the wire.
type shop struct {
	mu    sync.Mutex // protects asked
	asked []string
}

const (
	firstPage  = `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"10","continue":"page-2","remainingItemCount":1},"items":[{"metadata":{"namespace":"shop","name":"cart","resourceVersion":"4"}}]}`
	secondPage = `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"namespace":"shop","name":"till","resourceVersion":"7"}},{"metadata":{"namespace":"shop","name":"odd"},"spec":{"ports":"all"}}]}`
	history    = `{"type":"MODIFIED","object":{"kind":"Service","apiVersion":"v1","metadata":{"namespace":"shop","name":"cart","resourceVersion":"11"},"spec":{"clusterIP":"10.0.0.7"}}}
{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"shop","name":"stray","resourceVersion":"12"}}}
{"type":"BOOKMARK","object":{"kind":"Service","apiVersion":"v1","metadata":{"resourceVersion":"15"}}}
{"type":"DELETED","object":{"kind":"Service","apiVersion":"v1","metadata":{"namespace":"shop","name":"till","resourceVersion":"16"}}}
`
	tooOld = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version: 1 (10)"}}`
)

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	q := r.URL.Query()
	switch {
	case q.Get("watch") == "" && q.Get("continue") == "":
		_, _ = io.WriteString(w, firstPage)
	case q.Get("watch") == "":
		_, _ = io.WriteString(w, secondPage)
	case q.Get("resourceVersion") == "1":
		_, _ = io.WriteString(w, tooOld)
	case q.Get("resourceVersion") == "10":
		_, _ = io.WriteString(w, history)
	default: // nothing happens for as long as the client stays
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

func (s *shop) lastAsked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[len(s.asked)-1]
}

func TestWalkthrough(t *testing.T) {
	server := &shop{}
	host := httptest.NewServer(server)
	defer host.Close()
	defer host.Client().CloseIdleConnections()
	cfg := &rest.Config{Host: host.URL, Transport: host.Client().Transport}
	services := schema.GroupVersionResource{Version: "v1", Resource: "services"}

	client, err := listwatch.NewForConfig[*corev1.Service](cfg, services, listwatch.Options{Namespace: "shop"})
	require.NoError(t, err)
	var resourceVersion string

	t.Run("1 a list is one page, of one moment", func(t *testing.T) {
		page, err := client.List(t.Context(), metav1.ListOptions{Limit: 1})
		require.NoError(t, err)
		assert.Equal(t, "GET /api/v1/namespaces/shop/services?limit=1", server.lastAsked())
		assert.Equal(t, "cart", page.Items[0].Name)
		assert.Equal(t, "page-2", page.Continue)
		assert.Equal(t, int64(1), *page.RemainingItemCount)
	})

	t.Run("2 ListAll turns the pages, and a bad item costs only itself", func(t *testing.T) {
		all, err := listwatch.ListAll(t.Context(), client, metav1.ListOptions{}, 1)
		require.NoError(t, err)
		assert.Equal(t, "GET /api/v1/namespaces/shop/services?continue=page-2&limit=1", server.lastAsked())
		assert.Len(t, all.Items, 2)
		require.Len(t, all.Bad, 1)
		assert.Equal(t, listwatch.Key{Namespace: "shop", Name: "odd"}, all.Bad[0].Key)
		resourceVersion = all.ResourceVersion
		assert.Equal(t, "10", resourceVersion)
	})

	t.Run("3 a watch takes over where the list ended, and is pulled", func(t *testing.T) {
		stream, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: resourceVersion, AllowWatchBookmarks: true})
		require.NoError(t, err)
		defer stream.Close()
		assert.Equal(t, "GET /api/v1/namespaces/shop/services?allowWatchBookmarks=true&resourceVersion=10&watch=true", server.lastAsked())

		ev, err := stream.Next()
		require.NoError(t, err)
		assert.Equal(t, listwatch.Modified, ev.Type)
		assert.Equal(t, "10.0.0.7", ev.Object.Spec.ClusterIP)

		_, err = stream.Next() // a Pod among the services
		bad, ok := errors.AsType[*listwatch.ObjectError](err)
		require.True(t, ok)
		assert.EqualError(t, bad, `unreadable ADDED event "shop/stray" at resourceVersion 12: the object is a v1 Pod, not a v1 Service`)

		ev, err = stream.Next() // a bookmark moves the place to resume at, and nothing else
		require.NoError(t, err)
		assert.Equal(t, listwatch.Event[*corev1.Service]{Type: listwatch.Bookmark, ResourceVersion: "15"}, ev)

		ev, err = stream.Next()
		require.NoError(t, err)
		assert.Equal(t, listwatch.Deleted, ev.Type)
		assert.Equal(t, listwatch.Key{Namespace: "shop", Name: "till"}, listwatch.KeyOf(ev.Object))
		resourceVersion = ev.ResourceVersion

		_, err = stream.Next()
		assert.Equal(t, io.EOF, err, "the server may end a watch at any time, between two frames")
	})

	t.Run("4 a watch from too far back is told so", func(t *testing.T) {
		stream, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
		require.NoError(t, err)
		defer stream.Close()
		_, err = stream.Next()
		assert.True(t, apierrors.IsResourceExpired(err))
	})

	t.Run("5 Close wakes whoever waits in Next", func(t *testing.T) {
		stream, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: resourceVersion})
		require.NoError(t, err)
		ended := make(chan error)
		go func() {
			_, err := stream.Next()
			ended <- err
		}()
		require.NoError(t, stream.Close())
		assert.Equal(t, listwatch.ErrClosed, <-ended)
	})

	t.Run("6 a retry stream outlives its watches", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := resume.NewStream(ctx, client, metav1.ListOptions{ResourceVersion: "10"}, func(err error) {
			assert.Equal(t, io.EOF, err)
			cancel() // the story ends here; without this, Next would go on from 16
		})
		require.NoError(t, err)
		defer stream.Close()
		var seen []string
		for {
			ev, err := stream.Next()
			if _, bad := errors.AsType[*listwatch.ObjectError](err); bad {
				continue
			}
			if err != nil {
				assert.Equal(t, context.Canceled, err)
				break
			}
			seen = append(seen, fmt.Sprint(ev.Type, " ", ev.Object.Name))
		}
		assert.Equal(t, []string{"MODIFIED cart", "DELETED till"}, seen)
	})

	t.Run("7 all this is text on a wire", func(t *testing.T) {
		resp, err := host.Client().Get(host.URL + "/api/v1/services?watch=true&resourceVersion=10")
		require.NoError(t, err)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		require.True(t, lines.Scan())
		assert.True(t, strings.HasPrefix(lines.Text(), `{"type":"MODIFIED","object":{"kind":"Service"`))
	})
}
