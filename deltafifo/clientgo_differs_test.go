package deltafifo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/client-go/tools/cache"
)

// Each test here shows one line of the package's "Where client-go differs": what client-go does, what we do.

func clientGoQueues(transform cache.TransformFunc) (*cache.DeltaFIFO, *cache.RealFIFO) {
	return cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: clientGoKey, Transformer: transform, EmitDeltaTypeReplaced: true}),
		cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KeyFunction: clientGoKey, Transformer: transform, AtomicEvents: true, UnlockWhileProcessing: true})
}

func TestWhereClientGoDiffers_OneFailingTransformFailsTheWholeReplace(t *testing.T) {
	f, q := clientGoQueues(func(obj interface{}) (interface{}, error) { return transform(obj.(*thing)) })
	list := func() []*thing { return []*thing{failing("bad", 1), v("good", 1)} }
	for _, theirs := range []clientGoQueue{f, q} {
		things := list()
		assert.Error(t, theirs.Replace([]interface{}{things[0], things[1]}, "1"))
	}
	assert.False(t, f.HasSynced() || q.HasSynced())

	ourStore := newStoreModel()
	ourF, ourQ := newFIFO(ourStore), newQueue(0)
	assert.NoError(t, ourF.Replace(list(), nil, "1"))
	assert.NoError(t, ourQ.Replace(list(), nil, "1"))
	assert.Equal(t, []string{"Replaced good(good@1) [initial]"}, drain(t, ourF, ourStore))
	batches(t, ourQ)
	assert.True(t, ourF.HasSynced() && ourQ.HasSynced())
}

func TestWhereClientGoDiffers_AnObjectWithoutAKeyCountsAsTheFirstEvent(t *testing.T) {
	f, q := clientGoQueues(nil)
	assert.Error(t, f.Add(&thing{}))
	assert.Error(t, q.Add(&thing{}))
	assert.True(t, f.HasSynced() && q.HasSynced())

	ourF, ourQ := newFIFO(newStoreModel()), newQueue(0)
	assert.Error(t, ourF.Add(&thing{}))
	assert.Error(t, ourQ.Add(&thing{}))
	assert.False(t, ourF.HasSynced() || ourQ.HasSynced())
}

func TestWhereClientGoDiffers_AnEventInProcessEndsTheFirstListEarly(t *testing.T) {
	_, q := clientGoQueues(nil)
	q.Resync()
	q.Pop(func(interface{}, bool) error { return q.Replace([]interface{}{v("a", 1)}, "1") })
	assert.True(t, q.HasSynced(), "nobody has seen the list yet")

	ours := newQueue(0)
	ours.Resync()
	ours.Pop(func(delta, bool) error { return ours.Replace([]*thing{v("a", 1)}, nil, "1") })
	assert.False(t, ours.HasSynced())
}

func TestWhereClientGoDiffers_DoneClosesBeforeTheLastKeyIsProcessed(t *testing.T) {
	isClosed := func(done <-chan struct{}) bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	f, _ := clientGoQueues(nil)
	f.Replace([]interface{}{v("a", 1)}, "1")
	f.Pop(func(interface{}, bool) error {
		assert.True(t, isClosed(f.Done()))
		return nil
	})

	ours := newFIFO(newStoreModel())
	ours.Replace([]*thing{v("a", 1)}, nil, "1")
	ours.Pop(func(string, []delta, bool) error {
		assert.False(t, isClosed(ours.Synced()))
		return nil
	})
	assert.True(t, isClosed(ours.Synced()))
}
