package deltafifo

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeltaFIFO_DeleteUnknownCarriesTheCallersVersion(t *testing.T) {
	type obj struct{ name, version string }
	f := NewDeltaFIFO(Options[string, obj]{KeyFunc: func(o obj) (string, error) { return o.name, nil }})
	require.NoError(t, f.DeleteUnknown("a", obj{"a", "1"}))
	require.True(t, f.HasSynced(), "it is an event like others")
	require.Zero(t, f.Len(), "of a key that nobody knows nothing is queued")
	require.NoError(t, f.Add(obj{"a", "1"}))
	require.NoError(t, f.DeleteUnknown("a", obj{"a", "2"}))
	require.NoError(t, f.DeleteUnknown("a", obj{"a", "3"}))
	require.NoError(t, f.Pop(func(_ string, ds []Delta[string, obj], _ bool) error {
		require.Len(t, ds, 2)
		require.Equal(t, Delta[string, obj]{Type: Deleted, Key: "a", Obj: obj{"a", "3"}, FinalStateUnknown: true}, ds[1])
		return nil
	}))
}
