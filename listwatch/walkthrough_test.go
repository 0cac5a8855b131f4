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

	"glasswatch/internal/book"
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
	book.Chapter(t, "1 of 7, listwatch: the wire", `This layer turns HTTP into typed objects: a list says what there
		is, and a watch says what changes after it. Here the server has two Services, cart and till, in the namespace
		shop.`)
	server := &shop{}
	host := httptest.NewServer(server)
	defer host.Close()
	defer host.Client().CloseIdleConnections()
	cfg := &rest.Config{Host: host.URL, Transport: host.Client().Transport}
	services := schema.GroupVersionResource{Version: "v1", Resource: "services"}

	client, err := listwatch.NewForConfig[*corev1.Service](cfg, services, listwatch.Options{Namespace: "shop"})
	require.NoError(t, err)
	var resourceVersion string

	t.Run("1 a list comes in pages, all of one moment", func(t *testing.T) {
		page, err := client.List(t.Context(), metav1.ListOptions{Limit: 1})
		require.NoError(t, err)
		assert.Equal(t, "GET /api/v1/namespaces/shop/services?limit=1", server.lastAsked())
		assert.Equal(t, "cart", page.Items[0].Name)
		assert.Equal(t, "page-2", page.Continue)
		assert.Equal(t, int64(1), *page.RemainingItemCount)
		book.Saw(t, "%s: %s, one more to come, and the token %q for it",
			server.lastAsked(), page.Items[0].Name, page.Continue)
		book.Why(t, `A list of a large cluster would fill the memory of both sides. The token makes the next page show
			the same moment.`)
	})

	t.Run("2 ListAll reads all pages, and an item that cannot be decoded costs only itself", func(t *testing.T) {
		all, err := listwatch.ListAll(t.Context(), client, metav1.ListOptions{}, 1)
		require.NoError(t, err)
		assert.Equal(t, "GET /api/v1/namespaces/shop/services?continue=page-2&limit=1", server.lastAsked())
		assert.Len(t, all.Items, 2)
		require.Len(t, all.Bad, 1)
		assert.Equal(t, listwatch.Key{Namespace: "shop", Name: "odd"}, all.Bad[0].Key)
		resourceVersion = all.ResourceVersion
		assert.Equal(t, "10", resourceVersion)
		book.Saw(t, "%d Services at version %s, and one that cannot be decoded: %s",
			len(all.Items), resourceVersion, all.Bad[0].Key)
		book.Why(t, `The client knows that shop/odd exists, so it can keep what it had of it. All other objects are as
			good as ever.`)
	})

	t.Run("3 a watch begins where the list ended, and hands out an event a call", func(t *testing.T) {
		stream, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: resourceVersion, AllowWatchBookmarks: true})
		require.NoError(t, err)
		defer stream.Close()
		assert.Equal(t, "GET /api/v1/namespaces/shop/services?allowWatchBookmarks=true&resourceVersion=10&watch=true", server.lastAsked())

		ev, err := stream.Next()
		require.NoError(t, err)
		assert.Equal(t, listwatch.Modified, ev.Type)
		assert.Equal(t, "10.0.0.7", ev.Object.Spec.ClusterIP)
		book.Saw(t, "%s", inWords(ev, err))

		ev, err = stream.Next() // a Pod among the services
		bad, ok := errors.AsType[*listwatch.ObjectError](err)
		require.True(t, ok)
		assert.EqualError(t, bad, `unreadable ADDED event "shop/stray" at resourceVersion 12: the object is a v1 Pod, not a v1 Service`)
		book.Saw(t, "%s", inWords(ev, err))

		ev, err = stream.Next() // a bookmark moves the place to resume at, and nothing else
		require.NoError(t, err)
		assert.Equal(t, listwatch.Event[*corev1.Service]{Type: listwatch.Bookmark, ResourceVersion: "15"}, ev)
		book.Saw(t, "%s", inWords(ev, err))

		ev, err = stream.Next()
		require.NoError(t, err)
		assert.Equal(t, listwatch.Deleted, ev.Type)
		assert.Equal(t, listwatch.Key{Namespace: "shop", Name: "till"}, listwatch.KeyOf(ev.Object))
		resourceVersion = ev.ResourceVersion
		book.Saw(t, "%s", inWords(ev, err))

		ev, err = stream.Next()
		assert.Equal(t, io.EOF, err, "the server may end a watch at any time, between two frames")
		book.Saw(t, "%s", inWords(ev, err))
		book.Why(t, `No change is lost between list and watch. The reader calls Next when it is ready, so a slow reader
			slows the connection and fills no buffer (backpressure).`)
	})

	t.Run("4 a watch from a version that the server has dropped gets 410 Expired", func(t *testing.T) {
		stream, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
		require.NoError(t, err)
		defer stream.Close()
		_, err = stream.Next()
		assert.True(t, apierrors.IsResourceExpired(err))
		book.Saw(t, "an error instead of an event: %v", err)
		book.Why(t, `A server keeps a few minutes of history. If it began later without a word, the client would miss
			changes for ever; now it knows that it must list again.`)
	})

	t.Run("5 Close ends a Next that waits", func(t *testing.T) {
		stream, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: resourceVersion})
		require.NoError(t, err)
		ended := make(chan error)
		go func() {
			_, err := stream.Next()
			ended <- err
		}()
		require.NoError(t, stream.Close())
		err = <-ended
		assert.Equal(t, listwatch.ErrClosed, err)
		book.Saw(t, "Next waits for an event that does not come; after Close it returns %q", err)
		book.Why(t, `A program that shuts down must not wait for a server that is silent.`)
	})

	t.Run("6 a resume.Stream goes on with a new watch when one ends", func(t *testing.T) {
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
		book.Saw(t, "%s; then the watch ends, and a new one would begin at 16", strings.Join(seen, ", "))
		book.Why(t, `Servers end each watch after some minutes. A program that only follows changes needs no loop of its
			own.`)
	})

	t.Run("7 on the wire, each event is a line of JSON", func(t *testing.T) {
		resp, err := host.Client().Get(host.URL + "/api/v1/services?watch=true&resourceVersion=10")
		require.NoError(t, err)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		require.True(t, lines.Scan())
		assert.True(t, strings.HasPrefix(lines.Text(), `{"type":"MODIFIED","object":{"kind":"Service"`))
		book.Saw(t, "%s", lines.Text())
		book.Why(t, `You can read what the server says with curl, and compare.`)
	})
}

// inWords says what Next returned.
func inWords(ev listwatch.Event[*corev1.Service], err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "the end of the watch (io.EOF)"
	case err != nil:
		return "an error, after which the watch goes on: " + err.Error()
	case ev.Type == listwatch.Bookmark:
		return "a bookmark: a later watch may begin at version " + ev.ResourceVersion
	default:
		return fmt.Sprintf("%s %s, at version %s", ev.Type, ev.Object.Name, ev.ResourceVersion)
	}
}
