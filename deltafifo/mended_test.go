package deltafifo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDeltaFIFO_ASeenDeletionWhoseTransformFailedStaysSeen(t *testing.T) {
	for name, infer := range map[string]func(*fifo) error{
		"Replace":   func(f *fifo) error { return f.Replace(nil, nil, "3") },
		"DeleteKey": func(f *fifo) error { return f.DeleteKey("a") },
	} {
		f := newFIFO(storeOf(v("a", 1)))
		require.NoError(t, f.Delete(failing("a", 2)))
		require.NoError(t, infer(f))
		assert.Equal(t, "Deleted a(-) missing", show(f.Pending()), name)
	}
}

func TestFoldDeletions_TheOneWithAnObjectStaysThenTheOneThatWasSeen(t *testing.T) {
	missing, inferred := delta{Type: Deleted, Missing: true}, delta{Type: Deleted, FinalStateUnknown: true}
	lost := delta{Type: Deleted, Missing: true, FinalStateUnknown: true}
	best := []delta{{Type: Deleted}, inferred, missing, lost}
	for i, better := range best {
		for _, worse := range best[i+1:] {
			assert.Equal(t, better, foldDeletions(better, worse))
			assert.Equal(t, better, foldDeletions(worse, better))
		}
	}
}

func TestInOrder_PutAllRefusesWhatIsNoEventOfOneObject(t *testing.T) {
	q := newQueue(0)
	for _, typ := range []DeltaType{0, Replaced, Sync, ReplacedAll, SyncAll, Bookmark} {
		errs := q.PutAll([]delta{{Type: typ, Obj: v("a", 1)}, {Type: Added, Obj: v("b", 1)}})
		require.Len(t, errs, 2, typ)
		assert.ErrorContains(t, errs[0], typ.String())
		assert.NoError(t, errs[1])
		assert.Equal(t, []string{"Added b(b@1)"}, batches(t, q))
	}
	var told []error
	q.opts.Transform, q.opts.OnError = transform, func(_ string, err error) { told = append(told, err) }
	require.ErrorContains(t, q.PutAll([]delta{{Type: Sync, Obj: failing("a", 1)}})[0], "Sync")
	assert.Empty(t, told, "nobody was asked about the object")
}

func TestMetrics_APanicCostsNoQueueItsConsumer(t *testing.T) {
	armed := true
	opts := Options[string, *thing]{KeyFunc: nameOf}
	q, f := NewInOrder(opts), NewDeltaFIFO(opts)
	require.NoError(t, q.Add(v("a", 1)))
	require.NoError(t, f.Add(v("a", 1)))
	fail := func() {
		if armed {
			panic("a bug in the metrics")
		}
	}
	q.opts.Metrics.Queued = func(int) { fail() }
	f.opts.Metrics.Queued = q.opts.Metrics.Queued
	assert.Panics(t, func() { q.PopBatch(ignoreBatch) })
	assert.Panics(t, func() { f.Pop(ignoreDeltas) })
	assert.Panics(t, func() { f.Add(v("b", 1)) })
	assert.NoError(t, f.checkInvariants())
	armed = false
	assert.Equal(t, []string{"Added a(a@1)"}, batches(t, q))
	assert.NoError(t, f.DeleteKey("b"))
	assert.NoError(t, f.Replace(nil, nil, "1"))
	assert.Equal(t, "Added a(a@1) Deleted a(a@1) unknown Added b(b@1) Deleted b(b@1) unknown", show(f.Pending()))
	require.Equal(t, 2, f.Len())
	assert.NoError(t, f.Pop(ignoreDeltas))
	assert.NoError(t, q.checkInvariants())
	assert.NoError(t, f.checkInvariants())
}
