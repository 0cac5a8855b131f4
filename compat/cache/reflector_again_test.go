package cache

//lint:file-ignore SA1019 Older servers and programs are served, too.

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
)

// unavailable are the answers of servers that have a version no more, or not yet.
func unavailable() map[string]error {
	tooLarge := func(message string, cause metav1.StatusCause) error {
		err := apierrors.NewTimeoutError(message, 1)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, cause)
		return err
	}
	return map[string]error{
		"expired":                  apierrors.NewResourceExpired("too old"),
		"gone":                     apierrors.NewGone("too old"),
		"too large":                tooLarge("ahead", metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge}),
		"too large, before 1.18.6": tooLarge("ahead", metav1.StatusCause{Message: "Too large resource version"}),
		"too large, before 1.17":   apierrors.NewTimeoutError("Too large resource version", 1),
	}
}

// listing is a ListerWatcher that refuses lists at a known version, and counts its answers.
type listing struct {
	refuse   error
	lists    []string
	watching func()
}

func (l *listing) List(opts metav1.ListOptions) (runtime.Object, error) {
	l.lists = append(l.lists, opts.ResourceVersion)
	if opts.ResourceVersion != "0" && opts.ResourceVersion != "" {
		return nil, l.refuse
	}
	return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}, nil
}

func (l *listing) Watch(metav1.ListOptions) (watch.Interface, error) {
	l.watching()
	return watch.NewRaceFreeFake(), nil
}

func (l *listing) IsWatchListSemanticsUnSupported() bool { return true }

func TestReflector_ListAndWatchAsksForTheLatestIfItsVersionIsNotToBeHad(t *testing.T) {
	for name, refuse := range unavailable() {
		t.Run(name, func(t *testing.T) {
			withBoth(t, func(t *testing.T, m machinery, _ *village) {
				lw := &listing{refuse: refuse}
				r := m.reflector(lw, &corev1.ConfigMap{}, &ledger{}, ReflectorOptions{})
				for range 2 {
					ctx, cancel := context.WithCancel(t.Context())
					lw.watching = cancel
					require.NoError(t, r.ListAndWatchWithContext(ctx))
				}
				require.Equal(t, []string{"0", "10", ""}, lw.lists)
			})
		})
	}
}

func TestReflector_ListAndWatchEndsIfTheLatestIsNotToBeHadEither(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		r := m.reflector(s, &corev1.ConfigMap{}, &ledger{}, ReflectorOptions{})
		s.failLists = []error{apierrors.NewResourceExpired("one"), apierrors.NewResourceExpired("two")}
		require.EqualError(t, r.ListAndWatchWithContext(t.Context()), "failed to list *v1.ConfigMap: two")
	})
}

func TestSharedInformer_AListThatIsTriedAgainAtOnceIsNoMatterOfTheErrorHandler(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		informer, told := m.shared(s, &corev1.ConfigMap{}, plain()), &diary{}
		require.NoError(t, informer.SetWatchErrorHandler(func(_ *Reflector, err error) { told.write("%v", err) }))
		s.failLists = []error{apierrors.NewResourceExpired("one")}
		defer running(informer.RunWithContext)()
		require.True(t, informer.HasSynced())
		told.Expect(t)
	})
}

func TestReflector_TheStoreHearsOfEachEventsVersion(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, _ *village) {
		w := watch.NewFake()
		l := &ledger{}
		r := m.reflector(&ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
				return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}, nil
			},
			WatchFunc: func(opts metav1.ListOptions) (watch.Interface, error) {
				if opts.SendInitialEvents != nil {
					return nil, errors.New("no streaming lists")
				}
				return w, nil
			},
		}, &corev1.ConfigMap{}, l, ReflectorOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			w.Action(watch.Added, configMap("a", "10"))
			w.Action(watch.Modified, configMap("a", "20"))
			w.Action(watch.Bookmark, configMap("", "30"))
			w.Action(watch.Deleted, configMap("a", "40"))
			cancel()
		}()
		require.NoError(t, r.ListAndWatchWithContext(ctx))
		synctest.Wait()
		l.Expect(t, "Replace 0 at 10", "Add a@10", "at 10", "Update a@20", "at 20", "Bookmark 30", "at 30",
			"Delete a@40", "at 40")
	})
}

func TestReflector_ReturnsAfterItsWatchFunctionHas(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		ctx, cancel := context.WithCancel(t.Context())
		returned := false // no mutex: the race detector would tell
		lw := &ListWatch{ListFunc: s.List, WatchFunc: func(metav1.ListOptions) (watch.Interface, error) {
			cancel()
			<-time.After(100 * time.Millisecond)
			returned = true
			return watch.NewRaceFreeFake(), nil
		}}
		r := m.reflector(ToListWatcherWithWatchListSemantics(lw, s), &corev1.ConfigMap{}, &ledger{}, ReflectorOptions{})
		r.RunWithContext(ctx)
		require.True(t, returned)
	})
}

func TestDifference_AFunctionThatDoesNotReturnHoldsNothingUpForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		defer close(blocked)
		s := newVillage()
		list := func(metav1.ListOptions) (runtime.Object, error) {
			<-blocked
			return nil, errors.New("too late")
		}
		watch := func(metav1.ListOptions) (watch.Interface, error) {
			<-blocked
			return watch.NewRaceFreeFake(), nil
		}
		for lw, held := range map[*ListWatch]time.Duration{
			{ListFunc: list}: 0, {ListFunc: s.List, WatchFunc: watch}: watchGrace,
		} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Minute, cancel)
			began := time.Now()
			r := NewReflector(ToListWatcherWithWatchListSemantics(lw, s), &corev1.ConfigMap{}, &ledger{}, 0)
			r.RunWithContext(ctx)
			require.Equal(t, time.Minute+held, time.Since(began))
		}
	})
}

// client-go skips its own folder by a name that the module cache does not use.
func TestDifference_AReflectorIsNamedAfterTheLineOfItsCaller(t *testing.T) {
	example, s := &corev1.ConfigMap{}, newVillage()
//line /elsewhere/program.go:7
	theirs, ours := clientgo.NewReflector(s, example, nil, 0).Name(), NewReflector(s, example, nil, 0).Name()
//line reflector_again_test.go:173
	require.Contains(t, theirs, "/tools/cache/reflector.go:")
	require.Equal(t, "/elsewhere/program.go:7", ours)
}
