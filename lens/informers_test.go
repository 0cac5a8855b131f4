package lens

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"glasswatch/compat/cache/install"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/observe"
	"glasswatch/sharedinformer"
)

// withHandler makes an informer of ConfigMaps under a lens, with a handler, and returns what runs it.
type withHandler func(l *Lens, cfg *rest.Config, handle func()) (run func(context.Context) error, err error)

var informersOf = map[string]withHandler{
	"our layers": func(l *Lens, cfg *rest.Config, handle func()) (func(context.Context) error, error) {
		lw, err := listwatch.NewForConfig[*corev1.ConfigMap](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{})
		if err != nil {
			return nil, err
		}
		informer := sharedinformer.New(lw, sharedinformer.Options[*corev1.ConfigMap]{Observe: l.ObserveInformer("configmaps")})
		l.AddInformer("configmaps", informer)
		_, err = informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.ConfigMap]{
			AddFunc: func(*corev1.ConfigMap, bool) { handle() },
		}, sharedinformer.HandlerOptions{Name: "slow"})
		return informer.Run, err
	},
	"client-go": func(l *Lens, cfg *rest.Config, handle func()) (func(context.Context) error, error) {
		return watchedIn(l, informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(cfg), 0), handle)
	},
	"facades": func(l *Lens, cfg *rest.Config, handle func()) (func(context.Context) error, error) {
		factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(cfg), 0)
		if err := install.Into(factory, install.Options{}, &corev1.ConfigMap{}); err != nil {
			return nil, err
		}
		return watchedIn(l, factory, handle)
	},
}

func watchedIn(l *Lens, factory informers.SharedInformerFactory, handle func()) (func(context.Context) error, error) {
	informer := l.WatchInformer("configmaps", factory.Core().V1().ConfigMaps().Informer())
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { handle() }})
	return func(ctx context.Context) error { informer.RunWithContext(ctx); return nil }, err
}

func TestInformers_TellHowFarTheyAreBehind(t *testing.T) {
	for name, with := range informersOf {
		t.Run(name, func(t *testing.T) {
			apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
				l := New(Options{On: true})
				begins := make(chan struct{})
				release := sync.OnceFunc(func() { close(begins) })
				run, err := with(l, s.Config, func() { <-begins })
				require.NoError(t, err)
				apiservertest.Go(t, run)
				t.Cleanup(release)
				for i := range 3 {
					s.Put(fmt.Sprint("c", i), "a")
				}
				apiservertest.Pass(30 * time.Second)
				in := l.Informers()[0]
				isOurs := name != "client-go"
				require.True(t, in.Synced)
				if isOurs {
					require.Equal(t, []int{3, 0, 3}, []int{in.Objects, in.Queued, in.Handlers[0].Backlog})
					require.Contains(t, in.Behind(), "0 changes waiting for the store of 3 objects; the last event came 30s ago")
				} else {
					require.Equal(t, []int{-1, -1}, []int{in.Objects, in.Queued})
					require.Empty(t, in.Handlers, "the first call has not returned")
					require.Contains(t, in.Behind(), "not visible; the last event came 30s ago")
				}
				release()
				apiservertest.Pass(time.Second)
				in = l.Informers()[0]
				require.Equal(t, map[bool]int{true: 0, false: -1}[isOurs], in.Handlers[0].Backlog)
				require.Equal(t, 3, in.Handlers[0].Calls)
				require.Equal(t, 30*time.Second, in.Handlers[0].Slowest)
			})
		})
	}
}

func TestInformers_TellWhyListsFail(t *testing.T) {
	for _, name := range []string{"our layers", "facades"} {
		t.Run(name, func(t *testing.T) {
			apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
				l := New(Options{})
				cfg := rest.CopyConfig(s.Config)
				cfg.Wrap(func(http.RoundTripper) http.RoundTripper {
					return answering(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route today") })
				})
				run, err := informersOf[name](l, cfg, func() {})
				require.NoError(t, err)
				apiservertest.Go(t, run)
				apiservertest.Pass(time.Second)
				require.False(t, l.Informers()[0].Synced)
				require.Contains(t, l.Informers()[0].LastError, "no route today")
				require.Contains(t, pageOf(l, ""), "it fails: ")
			})
		})
	}
}

func TestInformers_ThatHaveEndedAreLetGoAndForgettable(t *testing.T) {
	for name, with := range informersOf {
		t.Run(name, func(t *testing.T) {
			apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
				l := New(Options{On: true})
				run, err := with(l, s.Config, func() {})
				require.NoError(t, err)
				stop := apiservertest.Go(t, run)
				s.Put("web", "a")
				apiservertest.Pass(time.Second)
				require.False(t, l.Informers()[0].HasEnded)
				stop()
				in := l.Informers()[0]
				require.True(t, in.HasEnded)
				require.False(t, in.IsVisible)
				require.Equal(t, 1, in.Handlers[0].Calls)
				require.Nil(t, l.informers["configmaps"].informer)
				require.Empty(t, l.informers["configmaps"].registrations)
				require.Contains(t, pageOf(l, ""), "has ended")
				l.RemoveInformer("configmaps")
				require.Empty(t, l.Informers())
			})
		})
	}
}

func TestAddInformer_LetsGoOfTheMemoryOfThoseThatHaveEnded(t *testing.T) {
	s := apiservertest.Start(t, apiserver.Options{})
	l := New(Options{})
	ended := endedInformer(t, l, s)
	l.AddInformer("other", notSynced{})
	apiservertest.Eventually(t, "the informer is collected", func() error {
		runtime.GC()
		if ended.Value() != nil {
			return errors.New("something keeps it")
		}
		return nil
	})
}

func endedInformer(t *testing.T, l *Lens, s *apiservertest.Server) weak.Pointer[sharedinformer.Informer[*corev1.ConfigMap]] {
	t.Helper()
	informer := sharedinformer.New(s.ConfigMaps(listwatch.Options{}), sharedinformer.Options[*corev1.ConfigMap]{})
	l.AddInformer("configmaps", informer)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, informer.Run(ctx))
	return weak.Make(informer)
}

func TestInformers_AreBoundedByThoseThatHaveNotEnded(t *testing.T) {
	l := New(Options{})
	for i := range 2 * maxInformers {
		l.AddInformer(fmt.Sprint(i), ended{})
	}
	require.LessOrEqual(t, len(l.informers), maxInformers)
}

type ended struct{ notSynced }

func (ended) Stopped() bool { return true }

func TestHandler_OnLoopbackRefusesNamesThatOthersMayResolveToIt(t *testing.T) {
	answer := func(local, host string) int {
		address, err := net.ResolveTCPAddr("tcp", local)
		require.NoError(t, err)
		r := httptest.NewRequest("GET", "http://"+host+"/debug/informers/", nil)
		w := httptest.NewRecorder()
		New(Options{}).Handler().ServeHTTP(w, r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(address))))
		return w.Code
	}
	for _, host := range []string{"localhost", "localhost:6060", "127.0.0.1:6060", "[::1]:6060", "[::1]", "10.0.0.1"} {
		require.Equal(t, http.StatusOK, answer("127.0.0.1:6060", host), host)
	}
	require.Equal(t, http.StatusForbidden, answer("127.0.0.1:6060", "elsewhere.example:6060"))
	require.Equal(t, http.StatusForbidden, answer("[::1]:6060", "elsewhere.example"))
	require.Equal(t, http.StatusOK, answer("10.0.0.5:6060", "program.default.svc:6060"), "who listens there has a guard")
}

// The informer of a factory may have handlers of before WatchInformer, or of other places.
func TestInformers_ShowUnwatchedHandlersBesideWatchedOnes(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		factory := informers.NewSharedInformerFactory(s.Client, 0)
		require.NoError(t, install.Into(factory, install.Options{}, &corev1.ConfigMap{}))
		l := New(Options{On: true})
		informer := factory.Core().V1().ConfigMaps().Informer()
		release := make(chan struct{})
		slow := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }}
		_, err := informer.AddEventHandler(slow)
		require.NoError(t, err)
		run, err := watchedIn(l, factory, func() {})
		require.NoError(t, err)
		apiservertest.Go(t, run)
		s.Put("a", "1")
		s.Put("b", "1")
		apiservertest.Pass(time.Second)
		handlers := l.Informers()[0].Handlers
		require.Len(t, handlers, 2)
		require.Contains(t, handlers[0].Name, "glasswatch/lens.TestInformers_ShowUnwatched")
		require.Equal(t, []int{-1, 2}, []int{handlers[0].Calls, handlers[0].Backlog})
		require.Equal(t, []int{2, 0}, []int{handlers[1].Calls, handlers[1].Backlog})
		require.Contains(t, pageOf(l, ""), "</code>: not visible, not visible, 2<br>")
		close(release)
	})
}

func TestIsResync_OnlyIfNothingCameFromTheServer(t *testing.T) {
	type observation = observe.Observation[listwatch.Key]
	sync, updated := observation{Kind: "Sync"}, observation{Kind: "Updated"}
	require.True(t, isResync([]observation{sync, {Kind: "SyncAll"}}))
	require.False(t, isResync([]observation{sync, updated}), "an event that came before the resync was popped")
	require.False(t, isResync([]observation{{Kind: "ReplacedAll"}}), "an empty list")
}
