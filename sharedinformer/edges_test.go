package sharedinformer

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
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
