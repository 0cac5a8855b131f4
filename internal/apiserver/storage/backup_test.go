package storage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStore_ARestoredBackupTakesBackObjectsAndRevisions(t *testing.T) {
	s := New(100)
	require.NoError(t, s.Create(pods, "a", object()))
	backup := s.Backup()
	kept := s.Get(pods, "a")
	_, _, w := s.SnapshotAndWatch(pods)
	require.NoError(t, s.Delete(pods, "a", kept, object()))
	require.NoError(t, s.Create(services, "b", object()))
	s.Restore(backup)

	require.EqualValues(t, 2, s.Revision())
	require.Same(t, kept, s.Get(pods, "a"))
	require.Nil(t, s.Get(services, "b"))
	_, _, _, err := w.Poll(nil, 10)
	require.ErrorIs(t, err, ErrDropped)
	_, err = s.Watch(pods, 1)
	var gone *ExpiredError
	require.ErrorAs(t, err, &gone, "the history went with the rest")

	require.NoError(t, s.Create(services, "d", object()))
	tree, _, err := s.Snapshot(pods, 2)
	require.NoError(t, err)
	require.Same(t, kept, tree.Get("a"), "what was restored is older than every event")
	w, err = s.Watch(pods, 2)
	require.NoError(t, err)
	require.NoError(t, s.Create(pods, "c", object()))
	require.Equal(t, "4", s.Get(pods, "c").GetResourceVersion(), "a number that was given before")
	events, _, _, err := w.Poll(nil, 10)
	require.NoError(t, err)
	require.Len(t, events, 1)
}
