package merged

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/sharedinformer"
)

// wait calls WaitForResourceVersion in a goroutine. The function returned says whether it has returned nil.
func (s *mergedStory) wait(version string) (reached func() bool) {
	done := make(chan error, 1)
	go func() { done <- s.informer.WaitForResourceVersion(context.Background(), version) }()
	return func() bool {
		s.Settle()
		select {
		case err := <-done:
			require.NoError(s, err)
			return true
		default:
			return false
		}
	}
}

func TestMerged_WaitForResourceVersionWaitsForTheListOfASourceThatWasAdded(t *testing.T) {
	inViews(t, []string{"a"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Put("y", "b")
		s.Start()
		require.Equal(s, "3", s.informer.Store().ResourceVersion())
		b := s.source("b")
		s.views["b"].Fail(errForbidden)
		require.NoError(s, s.informer.AddSource(b))
		reached := s.wait("3")
		require.False(s, reached(), "b has not listed")
		s.views["b"].Fail(nil)
		s.Pass(time.Minute)
		require.True(s, reached())
		require.Equal(s, 2, s.informer.Store().Len())
	})
}

func TestMerged_WaitForResourceVersionWaitsForASourceThatWasAddedBehindTheOthers(t *testing.T) {
	inViews(t, []string{"a"}, func(s *mergedStory) {
		b := s.source("b")
		s.views["b"].Pause()
		s.Put("x", "a", "b")
		s.Put("y", "b")
		s.Start()
		require.NoError(s, s.informer.AddSource(b))
		reached := s.wait("3")
		require.False(s, reached(), "b has listed, but not come to 3")
		s.views["b"].Resume()
		require.True(s, reached())
		require.Equal(s, 2, s.informer.Store().Len())
		require.Equal(s, "3", s.informer.Store().ResourceVersion())
	})
}

// The consumer stands still in an observer: what b has said is queued, and not in the store.
func TestMerged_WaitForResourceVersionWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		close(hold)
		opts := Options[*config]{}
		opts.Observe = func(o sharedinformer.Observation) {
			if o.Step == sharedinformer.BatchPopped {
				<-hold
			}
		}
		s := newMergedStory(t, opts, "a")
		defer s.Stop()
		s.Put("x", "a")
		s.Put("y", "b")
		s.Start()
		hold = make(chan struct{})
		require.NoError(t, s.informer.AddSource(s.source("b")))
		reached := s.wait("3")
		require.False(t, reached(), "b has come to 3, but y is not in the store")
		close(hold)
		require.True(t, reached())
		require.Equal(t, 2, s.informer.Store().Len())
	})
}

// A bookmark that was queued before what b said comes to the store first, and says nothing of b.
func TestMerged_WaitForResourceVersionIsNotEndedByAnEarlierBookmark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held bool
		pop := make(chan struct{})
		opts := Options[*config]{}
		opts.Observe = func(o sharedinformer.Observation) {
			if o.Step == sharedinformer.BatchPopped && held {
				<-pop
			}
		}
		s := newMergedStory(t, opts, "a")
		defer s.Stop()
		s.Put("x", "a")
		s.Start()
		held = true
		s.Put("y", "b")
		s.views["a"].Bookmark()
		s.Settle()
		require.NoError(t, s.informer.AddSource(s.source("b")))
		reached := s.wait("3")
		require.False(t, reached(), "nothing of it is in the store")
		pop <- struct{}{}
		require.False(t, reached(), "y is not in the store")
		require.Equal(t, 1, s.informer.Store().Len())
		close(pop)
		require.True(t, reached())
		require.Equal(t, 2, s.informer.Store().Len())
	})
}

func TestMerged_WaitForResourceVersionTakesNoMoreThanTheContext(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Start()
		s.views["b"].Fail(errForbidden)
		s.Put("x", "a")
		s.Pass(time.Minute)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := s.informer.WaitForResourceVersion(ctx, "2")
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.ErrorContains(s, err, `informer configs has not reached resourceVersion 2: `)
		require.ErrorContains(s, err, `source "b": `)
		require.Empty(s, s.informer.merge.waiters.all)
		require.Error(s, s.informer.WaitForResourceVersion(context.Background(), "new"))
	})
}

func TestMerged_WaitForResourceVersionEndsWithTheInformer(t *testing.T) {
	inViews(t, []string{"a"}, func(s *mergedStory) {
		s.Start()
		var err error
		go func() { err = s.informer.WaitForResourceVersion(context.Background(), "2") }()
		s.Settle()
		s.Stop()
		synctest.Wait()
		require.ErrorIs(s, err, sharedinformer.ErrStopped)
	})
}

func TestMerged_WaitForResourceVersionNeedsTheInOrderQueue(t *testing.T) {
	opts := Options[*config]{}
	opts.Queue = sharedinformer.PerKey
	informer, err := New[*config](nil, opts)
	require.NoError(t, err)
	require.ErrorIs(t, informer.WaitForResourceVersion(context.Background(), "1"), sharedinformer.ErrNoStoreVersion)
}
