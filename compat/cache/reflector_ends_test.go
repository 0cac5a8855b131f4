package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func TestSharedInformer_AWatchThatItsSourceNeverEndsGoesOn(t *testing.T) {
	stories{
		"paged": func(t *testing.T, c *transcript) {
			c.outlasts(t, paged(c.noted(&ListWatch{ListFunc: c.server.List, WatchFunc: c.server.Watch})))
		},
		"streaming": func(t *testing.T, c *transcript) { c.outlasts(t, c.noted(streams(c.server))) },
	}.compare(t)
}

// outlasts notes what an informer does in hours in which nothing happens, and then something does.
func (c *transcript) outlasts(t *testing.T, lw ListerWatcher) {
	t.Helper()
	c.server.Put("a")
	informer := c.informer(t, lw)
	defer running(informer.RunWithContext)()
	for range 3 {
		pass(24 * time.Hour)
		c.server.Put("a")
		pass(0)
		c.state(informer)
	}
}

// silence is what a server sends that has fallen silent.
type silence struct {
	once  sync.Once
	ended chan struct{}
}

func (s *silence) Decode() (watch.EventType, runtime.Object, error) {
	<-s.ended
	return "", nil, io.EOF
}

func (s *silence) Close() { s.once.Do(func() { close(s.ended) }) }

type reporter struct{}

func (reporter) AsObject(error) runtime.Object { return &metav1.Status{} }

func TestDifference_AWatchOfAnAPIServerThatDoesNotEndItAtItsTimeoutIsEnded(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		var began []time.Duration
		start := time.Now()
		r := m.reflector(paged(&ListWatch{ListFunc: s.List, WatchFunc: func(metav1.ListOptions) (watch.Interface, error) {
			began = append(began, time.Since(start))
			return watch.NewStreamWatcher(&silence{ended: make(chan struct{})}, reporter{}), nil
		}}), &corev1.ConfigMap{}, &ledger{}, ReflectorOptions{})
		stop := running(r.RunWithContext)
		pass(time.Hour)
		stop()
		want := []time.Duration{0}
		if m.name == ourMachinery.name {
			for at := 630 * time.Second; at <= time.Hour; at += 630 * time.Second {
				want = append(want, at)
			}
		}
		require.Equal(t, want, began)
	})
}

// weary is a ledger whose every second Resync fails.
type weary struct {
	ledger
	resyncs int
	err     error
}

func (w *weary) Resync() error {
	w.write("Resync")
	if w.resyncs++; w.resyncs%2 == 0 {
		return w.err
	}
	return nil
}

func TestReflector_AFailedResyncIsFollowedByAList(t *testing.T) {
	table := stories{}
	for what, err := range map[string]error{
		"any":       errors.New("enough"),
		"expired":   apierrors.NewResourceExpired("enough"),
		"not found": apierrors.NewNotFound(corev1.Resource("configmaps"), "a"),
		"an end":    io.EOF,
	} {
		table[what] = func(t *testing.T, c *transcript) {
			c.server.Put("a")
			store := &weary{err: err}
			lw := paged(c.noted(&ListWatch{ListFunc: c.server.List, WatchFunc: c.server.Watch}))
			r := c.reflector(lw, &corev1.ConfigMap{}, store, ReflectorOptions{ResyncPeriod: time.Hour})
			defer running(r.RunWithContext)()
			for range 5 {
				pass(time.Hour + 10*time.Second)
				c.write("%v, version %q", store.copied(), r.LastSyncResourceVersion())
			}
		}
	}
	table.compare(t)
}

// In an outage only ours resyncs.
func TestReflector_AFailedResyncInAnOutageCostsNoMoreThanTheListThatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &transcript{server: newVillage()}
		lw := paged(c.noted(&ListWatch{ListFunc: c.server.List, WatchFunc: c.server.Watch}))
		store := &moody{}
		r := NewReflector(lw, &corev1.ConfigMap{}, store, time.Second)
		defer running(r.RunWithContext)()
		no := errors.New("no list")
		c.server.failLists = []error{no, no, no, no}
		c.server.Unobserved(func() { c.server.Put("a") })
		pass(time.Hour)
		require.Greater(t, store.resyncs, 1000)
		require.Len(t, c.copied(), 2+5+1, "%v", c.entries)
		require.Equal(t, "1", r.LastSyncResourceVersion())
	})
}

func TestReflector_ASecondRunWaitsForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newVillage(), &ledger{}
		s.Put("a")
		r := NewReflectorWithOptions(s, &corev1.ConfigMap{}, l, ReflectorOptions{ResyncPeriod: time.Hour})
		stop := running(r.RunWithContext)
		l.Expect(t, "Replace 1 at 1")
		running(r.RunWithContext)() // ends with its context
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, r.ListAndWatchWithContext(short))
		defer running(r.RunWithContext)()
		l.Expect(t)
		stop()
		l.Expect(t, "Replace 1 at 1")
	})
}

// A list is what a failed resync leads to. So it does not end one, and ends the watch behind it.
func TestBridgeStream_AFailedResyncEndsAWatchAndNoStreamingList(t *testing.T) {
	r := NewReflector(&ListWatch{}, &corev1.ConfigMap{}, NewStore(MetaNamespaceKeyFunc), 0)
	failed := make(chan error, 1)
	failed <- errors.New("unable to resync")
	r.bridge.interrupt = failed
	w := watch.NewRaceFreeFake()
	streaming := true
	s := newBridgeStream(t.Context(), r.bridge, metav1.ListOptions{SendInitialEvents: &streaming}, w)
	defer s.Close()
	for range 50 { // a select between the two would choose at random
		w.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}})
		_, err := s.Next()
		require.NoError(t, err)
	}
	w.Action(watch.Bookmark, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: "1", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}})
	_, err := s.Next()
	require.NoError(t, err)
	_, err = s.Next()
	require.ErrorContains(t, err, "unable to resync")
}
