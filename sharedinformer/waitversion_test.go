package sharedinformer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/deltafifo"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

// Who creates an object and then waits for the version that came back finds it in the lister.
func ExampleInformer_WaitForResourceVersion() {
	ctx, cancel := context.WithCancel(context.Background())
	server, listener := apiserver.New(apiserver.Options{}), apiserver.NewPipeListener()
	stopped := make(chan error)
	go func() { stopped <- server.Serve(ctx, listener) }()
	cfg := server.RESTConfigFor(listener)
	client := kubernetes.NewForConfigOrDie(cfg)

	lw, _ := listwatch.NewForConfig[*corev1.ConfigMap](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{})
	informer := New(lw, Options[*corev1.ConfigMap]{})
	done := make(chan error)
	informerCtx, stop := context.WithCancel(ctx)
	go func() { done <- informer.Run(informerCtx) }()

	made, _ := client.CoreV1().ConfigMaps("default").Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{})
	if err := informer.WaitForResourceVersion(ctx, made.ResourceVersion); err != nil {
		fmt.Println(err)
	}
	seen, err := informer.Lister().Namespace("default").Get("mine")
	fmt.Println(seen.Name, err)

	stop()
	<-done
	cancel()
	<-stopped
	// Output: mine <nil>
}

func TestWaitForResourceVersion_ReadsItsOwnWrites(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		informer := New(k.ConfigMaps(listwatch.Options{}), Options[*config]{})
		apiservertest.Go(k, informer.Run)
		for n := range 100 {
			version := k.Put("mine", strconv.Itoa(n)).ResourceVersion
			require.NoError(k, informer.WaitForResourceVersion(k.Context(), version))
			require.Equal(k, strconv.Itoa(n), apiservertest.Values(informer.Store().All())["mine"])
		}
		// Versions of the past are there at once, even for a context that has ended.
		over, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(k, informer.WaitForResourceVersion(over, "1"))
	})
}

func TestWaitForResourceVersion_ObjectsOutsideTheSelectorWaitForABookmark(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		informer := New(k.ConfigMaps(listwatch.Options{LabelSelector: "team=blue"}), Options[*config]{})
		apiservertest.Go(k, informer.Run)
		require.NoError(k, informer.WaitForSync(k.Context()))
		k.Faults().StopBookmarks(true)
		red := apiservertest.ConfigMap("red", "1")
		red.Labels = map[string]string{"team": "red"}
		version := k.PutObject(red).ResourceVersion

		ctx, cancel := context.WithTimeout(k.Context(), 3*time.Minute)
		defer cancel()
		err := informer.WaitForResourceVersion(ctx, version)
		require.ErrorIs(k, err, context.DeadlineExceeded, "no event and no bookmark says that the store is there")

		k.Faults().StopBookmarks(false)
		ctx, cancel = context.WithTimeout(k.Context(), 2*time.Minute)
		defer cancel()
		require.NoError(k, informer.WaitForResourceVersion(ctx, version))
		require.Empty(k, apiservertest.Values(informer.Store().All()))
	})
}

func TestWaitForResourceVersion_ARelistCounts(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		informer := New(k.ConfigMaps(listwatch.Options{}), Options[*config]{WatchErrorHandler: func(context.Context, error) {}})
		apiservertest.Go(k, informer.Run)
		k.Put("a", "1")
		require.NoError(k, informer.WaitForSync(k.Context()))
		apiservertest.Pass(2 * time.Second)
		k.Faults().FailNext(-1, apiserver.Failure{Resource: "configmaps", Verb: "watch", Code: 503})
		k.Faults().BreakWatches()
		apiservertest.Pass(time.Second)
		version := k.Put("a", "2").ResourceVersion
		k.Faults().Compact()
		k.Faults().Reset()
		require.NoError(k, informer.WaitForResourceVersion(k.Context(), version))
		require.Equal(k, "2", apiservertest.Values(informer.Store().All())["a"])
	})
}

func TestWaitForResourceVersion_BadVersionsAreAnErrorAtOnce(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		s.Start()
		for _, bad := range []string{"", "0", "007", "abc", "-1", "1.5"} {
			require.ErrorContains(s, s.informer.WaitForResourceVersion(s.Context(), bad), "not well formed", "version %q", bad)
		}
	})
}

func TestWaitForResourceVersion_APerKeyStoreHasNoVersion(t *testing.T) {
	inVirtualTime(t, Options[*config]{Queue: PerKey}, func(s *story) {
		s.Start()
		require.ErrorIs(s, s.informer.WaitForResourceVersion(s.Context(), "1"), ErrNoStoreVersion)
	})
}

func TestWaitForResourceVersion_EndsAtOnceAndSaysWhy(t *testing.T) {
	inVirtualTime(t, Options[*config]{Name: "configs"}, func(s *story) {
		s.server.FailLists(apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("not for you")))
		s.Start()
		ctx, cancel := context.WithCancelCause(context.Background())
		reason := errors.New("changed my mind")
		errs := make(chan error, 2)
		go func() { errs <- s.informer.WaitForResourceVersion(ctx, "7") }()
		synctest.Wait()
		began := time.Now()
		cancel(reason)
		err := <-errs
		require.Equal(s, began, time.Now())
		require.ErrorIs(s, err, reason)
		require.True(s, apierrors.IsForbidden(errors.Unwrap(err)) || apierrors.IsForbidden(s.informer.LastError()))
		require.ErrorContains(s, err, "not for you")
		require.ErrorContains(s, err, "configs")

		go func() { errs <- s.informer.WaitForResourceVersion(context.Background(), "7") }()
		synctest.Wait()
		s.Stop()
		require.ErrorIs(s, <-errs, ErrStopped)
		require.ErrorIs(s, s.informer.WaitForResourceVersion(context.Background(), "7"), ErrStopped)
	})
}

// A handler that hangs delays Run's return, not the waiters': the store is through as soon as nobody writes it.
func TestWaitForResourceVersion_AStopDoesNotWaitForHandlers(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		release := make(chan struct{})
		s.Add(HandlerFuncs[*config]{AddFunc: func(*config, bool) { <-release }}, HandlerOptions{})
		s.server.Put("a", "1")
		s.Start()
		failed := make(chan error, 1)
		go func() { failed <- s.informer.WaitForResourceVersion(context.Background(), "7") }()
		synctest.Wait()
		s.cancel()
		require.ErrorIs(s, <-failed, ErrStopped)
		close(release)
	})
}

// Many wait for many versions, in no order, while the store moves and some lose patience: each is told at its version.
func TestWaitForResourceVersion_WakesEachAtItsVersion(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		s.Start()
		const last = 300
		rng := rand.New(rand.NewPCG(1, 2))
		var wg sync.WaitGroup
		for range 1000 {
			version, patient := 1+rng.IntN(last), rng.IntN(4) > 0
			wg.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if !patient {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(version/2)*time.Second)
					defer cancel()
				}
				err := s.informer.WaitForResourceVersion(ctx, strconv.Itoa(version))
				if patient && err != nil {
					s.Errorf("version %d: %v", version, err)
				}
				if at, _ := strconv.Atoi(s.informer.Store().ResourceVersion()); err == nil && at < version {
					s.Errorf("told of version %d at %d", version, at)
				}
			})
		}
		for n := range last {
			s.Pass(time.Second)
			s.server.Put("a", strconv.Itoa(n))
		}
		wg.Wait()
	})
}

// Some servers send a deletion with the version of the object that was deleted.
func TestWaitForResourceVersion_AnOlderVersionDoesNotSetTheStoreBack(t *testing.T) {
	i := New(newServer(), Options[*config]{})
	for _, e := range []struct {
		typ           deltafifo.DeltaType
		name, version string
	}{{deltafifo.Added, "a", "8"}, {deltafifo.Added, "b", "9"}, {deltafifo.Added, "c", ""}, {deltafifo.Deleted, "a", "8"}} {
		obj := &config{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: e.name, ResourceVersion: e.version}}
		require.NoError(t, i.process([]delta[*config]{{Type: e.typ, Key: listwatch.KeyOf(obj), Obj: obj}}, false))
		i.writer.release()
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, i.WaitForResourceVersion(ended, "9"))
}
