package proxy

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = *corev1.ConfigMap

// harness is a server with two ConfigMaps, a proxy, and a client of either.
type harness struct {
	*Proxy
	t      *testing.T
	lw     listwatch.ListerWatcher[object]
	server *apiservertest.Server

	mu    sync.Mutex
	fired []Kind
}

// both plays a story in JSON and in protobuf.
func both(t *testing.T, story func(h *harness)) {
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(mediaType, func(t *testing.T) {
			apiservertest.InBubble(t, apiserver.Options{BookmarkInterval: time.Second}, func(t *testing.T, s *apiservertest.Server) {
				h := &harness{t: t, server: s}
				target, err := url.Parse(s.Config.Host)
				require.NoError(t, err)
				between, upstream := apiserver.NewPipeListener(), &http.Transport{DialContext: s.Config.Dial}
				h.Proxy = New(Options{Target: target, Upstream: upstream, Version: s.Revision, Fired: h.note})
				front := &http.Server{Handler: h.Proxy}
				served := make(chan error, 1)
				go func() { served <- front.Serve(between) }()
				through := &http.Transport{DialContext: between.DialContext}
				lw, err := listwatch.NewForConfig[object](
					&rest.Config{Host: "http://" + between.Addr().String(), QPS: -1, Transport: through, ContentConfig: rest.ContentConfig{AcceptContentTypes: mediaType}},
					corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{})
				require.NoError(t, err)
				h.lw = lw
				h.Create("a")
				h.Create("b")
				story(h)
				through.CloseIdleConnections()
				upstream.CloseIdleConnections()
				_ = front.Close()
				require.ErrorIs(t, <-served, http.ErrServerClosed)
			})
		})
	}
}

func (h *harness) note(k Kind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fired = append(h.fired, k)
}

func (h *harness) Create(name string) { h.server.Put(name, "") }

// Watch opens a watch from the state with a and b.
func (h *harness) Watch() listwatch.Stream[object] {
	list, err := h.lw.List(h.t.Context(), metav1.ListOptions{})
	require.NoError(h.t, err)
	s, err := h.lw.Watch(h.t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true})
	require.NoError(h.t, err)
	return s
}

// Next describes the next event.
func (h *harness) Next(s listwatch.Stream[object]) string {
	ev, err := s.Next()
	switch {
	case err != nil:
		return err.Error()
	case ev.Type == listwatch.Bookmark:
		return "BOOKMARK " + ev.ResourceVersion
	}
	return ev.Type.String() + " " + ev.Object.Name
}

func (h *harness) Expect(fired ...Kind) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Equal(h.t, fired, h.fired)
}

func TestProxy_PassesOnWhatItIsNotToldToSpoil(t *testing.T) {
	both(t, func(h *harness) {
		s := h.Watch()
		defer s.Close()
		h.Create("c")
		require.Equal(h.t, "ADDED c", h.Next(s))
		require.True(h.t, strings.HasPrefix(h.Next(s), "BOOKMARK"))
		h.Expect()
	})
}

func TestProxy_RefusesAsServersAndBalancersDo(t *testing.T) {
	both(t, func(h *harness) {
		h.Plan(Fault{Kind: TooMany, Pause: 3 * time.Second}, Fault{Kind: Internal}, Fault{Kind: BadGateway}, Fault{Kind: Unavailable},
			Fault{Kind: Unavailable, Variant: 1}, Fault{Kind: Expired}, Fault{Kind: Drop})
		list := func() error {
			_, err := h.lw.List(h.t.Context(), metav1.ListOptions{})
			return err
		}
		err := list()
		seconds, _ := apierrors.SuggestsClientDelay(err)
		require.True(h.t, apierrors.IsTooManyRequests(err))
		require.Equal(h.t, 3, seconds)
		require.True(h.t, apierrors.IsInternalError(list()))
		require.EqualValues(h.t, http.StatusBadGateway, apierrors.APIStatus(list().(*apierrors.StatusError)).Status().Code)
		require.True(h.t, apierrors.IsServiceUnavailable(list()))
		require.True(h.t, apierrors.IsServiceUnavailable(list()))
		require.True(h.t, apierrors.IsResourceExpired(list()))
		_ = list() // torn; the transport may have tried once more by itself
		require.NoError(h.t, list())
		h.Expect(TooMany, Internal, BadGateway, Unavailable, Unavailable, Expired, Drop)
	})
}

func TestProxy_SpoilsFrames(t *testing.T) {
	both(t, func(h *harness) {
		s := h.Watch()
		h.Plan(Fault{Kind: Duplicate}, Fault{Kind: Oversize}, Fault{Kind: Garbage}, Fault{Kind: Garbage}, Fault{Kind: HalfFrame})
		for _, name := range []string{"c", "d", "e", "f", "g"} {
			h.Create(name)
		}
		require.Equal(h.t, "ADDED c", h.Next(s))
		require.Equal(h.t, "ADDED c", h.Next(s))
		require.Equal(h.t, "ADDED d", h.Next(s))
		require.Contains(h.t, h.Next(s), "unreadable", "in the place of e")
		require.Contains(h.t, h.Next(s), "unreadable", "before f, as nothing has come through meanwhile")
		require.Equal(h.t, "ADDED f", h.Next(s))
		_, err := s.Next()
		require.ErrorIs(h.t, err, io.ErrUnexpectedEOF)
		h.Expect(Duplicate, Oversize, Garbage, Garbage, HalfFrame)
		_ = s.Close()
	})
}

func TestProxy_ReordersBookmarksButTellsNoLies(t *testing.T) {
	both(t, func(h *harness) {
		s := h.Watch()
		h.Plan(Fault{Kind: Bookmarks, Variant: 0}, Fault{Kind: Bookmarks, Variant: 2})
		<-time.After(1500 * time.Millisecond) // one is held back
		h.Create("c")
		require.Equal(h.t, "ADDED c", h.Next(s))
		late := h.Next(s)
		require.True(h.t, strings.HasPrefix(late, "BOOKMARK"))
		twice := h.Next(s)
		require.NotEqual(h.t, late, twice)
		require.Equal(h.t, twice, h.Next(s))
		h.Expect(Bookmarks, Bookmarks)
		_ = s.Close()
	})
}

func TestProxy_TellsWatchesOfALostTime(t *testing.T) {
	both(t, func(h *harness) {
		backup := h.server.Faults().Backup()
		h.Create("c")
		list, err := h.lw.List(h.t.Context(), metav1.ListOptions{})
		require.NoError(h.t, err)
		h.server.Faults().Restore(backup)
		h.Restored()
		told := map[string]int{}
		for range 3 {
			s, err := h.lw.Watch(h.t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
			if err == nil {
				told[strings.Fields(h.Next(s))[0]]++
				_ = s.Close()
				continue
			}
			require.True(h.t, apierrors.IsResourceExpired(err))
			told["410"]++
		}
		require.Equal(h.t, map[string]int{"410": 1, "too": 1, "BOOKMARK": 1}, told, "by an answer, an event, and a bookmark")
		h.Expect(Rewound, Rewound, Rewound)
		_ = h.Watch().Close() // after a list there is no sign any more
		h.Expect(Rewound, Rewound, Rewound)
	})
}
