package sharedinformer

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
	"glasswatch/observe"
)

// A restored server may give another object the version that the one before it had.
func TestInformer_AnotherObjectOfTheSameVersionIsAChange(t *testing.T) {
	i := New(newServer(), Options[*config]{})
	for n, listed := range []struct {
		version string
		uid     types.UID
	}{{"5", "one"}, {"9", "two"}} {
		obj := &config{}
		obj.Namespace, obj.Name, obj.UID, obj.ResourceVersion = "default", "a", listed.uid, "3"
		item := deltafifo.Item[key, *config]{Key: listwatch.KeyOf(obj), Obj: obj}
		list := &deltafifo.Bulk[key, *config]{ResourceVersion: listed.version, Items: []deltafifo.Item[key, *config]{item}}
		require.NoError(t, i.process([]delta[*config]{{Type: deltafifo.ReplacedAll, Bulk: list}}, n == 0))
		require.Len(t, i.writer.notes, 1)
		require.Equal(t, changed, i.writer.notes[0].cause)
		i.writer.release()
	}
}

func TestObserve_AnObserverThatPanicsAfterTheStoreCostsHandlersNothing(t *testing.T) {
	i := New(newServer(), Options[*config]{Observe: func(seen []observation) {
		if seen[0].Step == observe.Stored {
			panic("an observer")
		}
	}})
	reg, err := i.AddHandler(newRecorder(), HandlerOptions{})
	require.NoError(t, err)
	obj := &config{}
	obj.Name, obj.ResourceVersion = "a", "1"
	added := []delta[*config]{{Type: deltafifo.Added, Key: listwatch.KeyOf(obj), Obj: obj}}
	require.Panics(t, func() { _ = i.process(added, false) })
	require.Equal(t, 1, reg.Stats().Depth)
}

func TestResync_AListBehindAnUpdateOfTheSameKeyRestartsThePeriod(t *testing.T) {
	i := New[*config](newServer(), Options[*config]{Queue: PerKey})
	i.restartResyncAfterList([]delta[*config]{{Type: deltafifo.Updated}})
	require.Empty(t, i.listPopped)
	i.restartResyncAfterList([]delta[*config]{{Type: deltafifo.Updated}, {Type: deltafifo.Replaced}})
	require.Len(t, i.listPopped, 1)
}

func TestListener_AfterItsEndTheReasonStaysAndTheInformerIsForgotten(t *testing.T) {
	l := newListener(HandlerFuncs[*config]{}, HandlerOptions{})
	asked := 0
	l.reg.life.lastError = func() error { asked++; return nil }
	l.finish(nil)
	l.backlog.drop(ErrStopped)
	require.NoError(t, l.reg.Err())
	require.Equal(t, 1, asked)
	require.NoError(t, l.reg.life.lastWatchError())
	require.Equal(t, 1, asked, "once, at its end")
}

// As behind a SyncGate: an object that the handler knows goes, comes back as part of the initial list, and goes again.
func TestBacklog_AFoldedInitialAddCountsAsDeliveredWithItsDeletion(t *testing.T) {
	b := newBacklog[*config](HandlerOptions{Fold: true})
	obj := &config{}
	gone := notification[*config]{kind: deleted, old: obj, obj: obj}
	b.add([]notification[*config]{gone, {kind: added, obj: obj, initial: true}, gone}, all)
	b.endInitialList()
	require.False(t, isClosed(b.synced))
	b.told(&b.take()[0])
	require.True(t, isClosed(b.synced))
}

func TestNew_PanicsWithoutAListerWatcher(t *testing.T) {
	require.PanicsWithValue(t, "sharedinformer: an informer needs a ListerWatcher", func() { New[*config](nil, Options[*config]{}) })
}
