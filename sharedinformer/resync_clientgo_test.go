package sharedinformer

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"glasswatch/reflector"
)

// asked is what one handler asks for.
type asked struct {
	Period time.Duration // 0: the informer's
	None   bool          // no resync
	Late   bool          // joins while the informer runs
}

// period is what it asks client-go for.
func (a asked) period() *time.Duration {
	if a.None {
		return new(time.Duration)
	}
	if a.Period == 0 {
		return nil
	}
	return &a.Period
}

// joinAfter is when the late ones join, between two looks of every informer.
const (
	joinAfter = 4*time.Second + 250*time.Millisecond
	storyEnd  = time.Minute + 50*time.Millisecond
)

// clock writes down when each handler was given a resync.
type clock struct {
	mu    sync.Mutex
	start time.Time
	times map[int][]time.Duration
}

func newClock() *clock { return &clock{start: time.Now(), times: map[int][]time.Duration{}} }

func (c *clock) note(handler int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times[handler] = append(c.times[handler], time.Since(c.start))
}

func TestResync_ComesWhenClientGoWouldHaveIt(t *testing.T) {
	periods := []time.Duration{0, 300 * time.Millisecond, time.Second, 1500 * time.Millisecond, 3 * time.Second, 7 * time.Second}
	one := rapid.Custom(func(t *rapid.T) asked {
		return asked{rapid.SampledFrom(periods).Draw(t, "period"), rapid.Bool().Draw(t, "none"), rapid.Bool().Draw(t, "late")}
	})
	rapid.Check(t, func(rt *rapid.T) {
		usual := rapid.SampledFrom(periods).Draw(rt, "informer's period")
		all := rapid.SliceOfN(one, 1, 4).Draw(rt, "handlers")
		var want, got *clock
		synctest.Test(t, func(t *testing.T) { want = resyncsOfClientGo(t, usual, all, false) })
		synctest.Test(t, func(t *testing.T) { got = resyncsOfOurs(t, usual, all, false) })
		if fmt.Sprint(want.times) != fmt.Sprint(got.times) {
			rt.Fatalf("client-go %v\nours      %v", want.times, got.times)
		}
	})
}

// client-go's timer runs beside its watch only.
func TestWhereClientGoDiffers_ResyncsGoOnInAnOutage(t *testing.T) {
	var theirs, ours *clock
	synctest.Test(t, func(t *testing.T) { theirs = resyncsOfClientGo(t, 10*time.Second, []asked{{}}, true) })
	synctest.Test(t, func(t *testing.T) { ours = resyncsOfOurs(t, 10*time.Second, []asked{{}}, true) })
	require.Empty(t, theirs.times)
	require.Len(t, ours.times[0], int(storyEnd/(10*time.Second)))
}

// outageAt is when the watch ends in an outage. No list works any more then.
const outageAt = time.Second

// joinAll adds the handlers that are early, runs the informer, adds the late ones, and stops it at the story's end.
func joinAll(all []asked, add func(n int, a asked), run func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	for _, late := range []bool{false, true} {
		for n, a := range all {
			if a.Late == late {
				add(n, a)
			}
		}
		if !late {
			go func() { defer close(ended); run(ctx) }()
			<-time.After(joinAfter)
		}
	}
	<-time.After(storyEnd - joinAfter)
	cancel()
	<-ended
}

func resyncsOfOurs(t *testing.T, usual time.Duration, all []asked, outage bool) *clock {
	server, c := newServer(), newClock()
	server.Put("a", "1")
	if outage {
		time.AfterFunc(outageAt, func() { server.FailLists(errors.New("down")); server.Compact() })
	}
	i := New[*config](server, Options[*config]{ResyncPeriod: usual, Reflector: reflector.Options{DisableStreamingList: true}})
	joinAll(all, func(n int, a asked) {
		opts := HandlerOptions{ResyncPeriod: a.Period}
		if a.None {
			opts.ResyncPeriod = NoResync
		}
		_, err := i.AddHandler(HandlerFuncs[*config]{UpdateFunc: func(_, _ *config) { c.note(n) }}, opts)
		require.NoError(t, err)
	}, func(ctx context.Context) { _ = i.Run(ctx) })
	return c
}

func resyncsOfClientGo(t *testing.T, usual time.Duration, all []asked, outage bool) *clock {
	c := newClock()
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []config{{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}}}}
	lw := pagesOnly{&cache.ListWatch{
		ListFunc: func(metav1.ListOptions) (k8sruntime.Object, error) {
			if outage && time.Since(c.start) >= outageAt {
				return nil, errors.New("down")
			}
			return list.DeepCopy(), nil
		},
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) {
			w := watch.NewFake()
			if outage {
				time.AfterFunc(outageAt, func() { w.Error(&apierrors.NewResourceExpired("compacted").ErrStatus) })
			}
			return w, nil
		},
	}}
	i := cache.NewSharedIndexInformer(lw, &config{}, usual, nil)
	joinAll(all, func(n int, a asked) {
		_, err := i.AddEventHandlerWithOptions(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { c.note(n) }}, cache.HandlerOptions{ResyncPeriod: a.period()})
		require.NoError(t, err)
	}, i.RunWithContext)
	return c
}

// pagesOnly has client-go's reflector list in pages, as ours does here.
type pagesOnly struct{ *cache.ListWatch }

func (pagesOnly) IsWatchListSemanticsUnSupported() bool { return true }
