package storage

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore_AWatcherThatFallsBehindTheHistoryIsCutOffAndOthersGoOn(t *testing.T) {
	s := New(0)
	_, _, slow := s.SnapshotAndWatch(pods)
	_, _, quick := s.SnapshotAndWatch(pods)
	for i := range lagAllowance + 1 {
		require.NoError(t, s.Create(pods, strconv.Itoa(i), object()))
		events, _, _, err := quick.Poll(nil, 10)
		require.NoError(t, err)
		require.Len(t, events, 1)
	}
	_, _, _, err := slow.Poll(nil, 10)
	require.ErrorIs(t, err, ErrLagged)

	_, _, err = s.Snapshot(pods, s.Revision()-1)
	var expired *ExpiredError
	require.ErrorAs(t, err, &expired)
	require.Equal(t, s.Revision(), expired.Oldest)
}

func TestStore_CompactToKeepsWhatIsNewer(t *testing.T) {
	s := New(100)
	for _, key := range []string{"a", "b", "c"} {
		require.NoError(t, s.Create(pods, key, object()))
	}
	newest := s.Revision()
	works := func(rev int64) bool {
		_, err := s.Watch(pods, rev)
		return err == nil
	}
	s.CompactTo(newest - 1)
	require.False(t, works(newest-2))
	require.True(t, works(newest-1))
	s.CompactTo(newest - 2)
	require.False(t, works(newest-2), "what is forgotten does not come back")
	s.CompactTo(newest + 5)
	require.True(t, works(newest))
}

func TestStore_CompactingDoesNotDisturbAConnectedWatcher(t *testing.T) {
	s := New(100)
	_, rev, w := s.SnapshotAndWatch(pods)
	require.NoError(t, s.Create(pods, "a", object()))
	require.NoError(t, s.Create(services, "b", object()))
	s.Compact()
	_, err := s.Watch(pods, rev)
	require.Error(t, err)
	events, seen, _, err := w.Poll(nil, 10)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, s.Revision(), seen, "the write to the other table counts as seen")
}

func TestStore_AWatchInTheFutureDeliversOnlyWhatComesAfter(t *testing.T) {
	s := New(100)
	w, err := s.Watch(pods, 3)
	require.NoError(t, err)
	for _, key := range []string{"a", "b", "c"} { // revisions 2, 3 and 4
		require.NoError(t, s.Create(pods, key, object()))
	}
	events, _, _, err := w.Poll(nil, 10)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, "c", events[0].Key)
}

func TestStore_WaitingEndsWithTheRevisionOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(100)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		arrived := make(chan bool, 2)
		go func() { arrived <- s.WaitFor(ctx, 2) }()
		go func() { arrived <- s.WaitFor(ctx, 3) }()
		synctest.Wait()
		require.Empty(t, arrived)
		require.NoError(t, s.Create(pods, "a", object()))
		require.True(t, <-arrived)
		begin := time.Now()
		require.False(t, <-arrived)
		require.Equal(t, time.Minute, time.Since(begin))
	})
}

func TestStore_AWatcherOfADroppedTableGetsWhatWasWrittenBeforeItEnds(t *testing.T) {
	s := New(100)
	require.NoError(t, s.Create(pods, "a", object()))
	_, _, w := s.SnapshotAndWatch(pods)
	require.NoError(t, s.Delete(pods, "a", s.Get(pods, "a"), object()))
	s.Drop(pods)
	require.NoError(t, s.Create(pods, "b", object())) // of another table
	events, seen, _, err := w.Poll(nil, 10)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, Deleted, events[0].Type)
	require.Equal(t, events[0].Revision, seen)
	_, _, _, err = w.Poll(nil, 10)
	require.ErrorIs(t, err, ErrDropped)
}

func TestStore_PollingWakesAtAWriteToTheTableAndWhenItIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(100)
		_, _, w := s.SnapshotAndWatch(pods)
		_, _, changed, err := w.Poll(nil, 1)
		require.NoError(t, err)
		woken := false
		go func() { <-changed; woken = true }()
		require.NoError(t, s.Create(services, "a", object()))
		synctest.Wait()
		require.False(t, woken)
		require.NoError(t, s.Create(pods, "a", object()))
		synctest.Wait()
		require.True(t, woken)

		_, _, _, err = w.Poll(nil, 1)
		require.NoError(t, err)
		_, _, changed, err = w.Poll(nil, 1)
		require.NoError(t, err)
		s.Drop(pods)
		<-changed
		_, _, _, err = w.Poll(nil, 1)
		require.ErrorIs(t, err, ErrDropped)
	})
}
