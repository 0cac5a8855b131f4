package reflector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/listwatch"
)

// throughWatch is the scripted server, whose streams come through a watch of client-go's kind.
func throughWatch(w watch.Interface) listwatch.ListerWatcher[object] {
	return listwatch.Funcs[object]{
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "1000"}}, nil
		},
		WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return w, nil },
	}
}

// watchThrough runs a reflector on w, sends events with versions below the list's, and waits for no time at all.
func watchThrough(t *testing.T, w watch.Interface, send func()) (*recorder, *Reflector[object], []error) {
	var errs []error
	sink := newRecorder()
	r := New(throughWatch(w), sink, Options{
		DisableStreamingList: true, OnError: func(_ context.Context, err error) { errs = append(errs, err) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	synctest.Wait()
	began := time.Now()
	send()
	synctest.Wait()
	require.Zero(t, time.Since(began))
	cancel()
	<-done
	return sink, r, errs
}

func TestWatch_AFakesVersionsMayBeOlderThanItsLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch.NewRaceFreeFake()
		sink, r, errs := watchThrough(t, w, func() {
			w.Add(change{rv: 7, key: keyNamed("a")}.object())
			w.Modify(change{rv: 3, key: keyNamed("a")}.object())
			w.Action(watch.Bookmark, change{rv: 2, key: keyNamed("x")}.object())
			w.Delete(change{rv: 1, key: keyNamed("a")}.object())
		})
		require.Empty(t, errs)
		require.Equal(t, []string{"Replace 1000 []", "Add a@7", "Update a@3", "Bookmark 2", "Delete a@1"}, sink.diary)
		require.Equal(t, "1", r.LastSyncResourceVersion(), "as client-go's, it follows")
	})
}

// A fake's event was never bytes, and a fake does not send it again: its watch goes on, or the test's next event would
// meet a closed one.
func TestWatch_AFakesUnreadableEventDoesNotEndItsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch.NewFake()
		sink, r, errs := watchThrough(t, w, func() {
			w.Add(&metav1.PartialObjectMetadataList{})
			w.Add(change{rv: 7, key: keyNamed("a")}.object())
		})
		require.Len(t, errs, 1)
		require.Equal(t, []string{"Replace 1000 []", "Add a@7"}, sink.diary)
		require.Equal(t, uint64(1), r.Stats().Watches)
	})
}

// decoder is what client-go's client decodes a server's answer with.
type decoder struct{ events chan watch.Event }

func (d decoder) Close() {}
func (d decoder) Decode() (watch.EventType, runtime.Object, error) {
	ev := <-d.events
	return ev.Type, ev.Object, nil
}

func TestWatch_AServerThatWasSetBackIsNoticedThroughClientGosClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan watch.Event, 1)
		w := watch.NewStreamWatcher(decoder{events}, nil)
		sink, _, errs := watchThrough(t, w, func() {
			events <- watch.Event{Type: watch.Modified, Object: change{rv: 3, key: keyNamed("a")}.object()}
		})
		close(events)
		require.Equal(t, []string{"Replace 1000 []"}, sink.diary)
		require.Len(t, errs, 1)
		require.ErrorIs(t, errs[0], ErrRewound)
	})
}
