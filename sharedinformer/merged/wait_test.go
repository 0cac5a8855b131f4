package merged

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/observe"
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
		opts.Observe = func(seen []observe.Observation[key]) {
			if seen[0].Step == observe.Popped {
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
		opts.Observe = func(seen []observe.Observation[key]) {
			if seen[0].Step == observe.Popped && held {
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

// An event takes b past the loss of x. The deletion must come to the store before the bookmark does.
func TestMerged_WaitForResourceVersionWaitsForTheDeletionsBeforeIt(t *testing.T) {
	for _, version := range []string{"3", "4"} {
		for name, waitsBefore := range map[string]bool{"asked before": true, "asked after": false} {
			t.Run(version+", "+name, func(t *testing.T) {
				inViews(t, []string{"a", "b"}, func(s *mergedStory) {
					s.Put("x", "a")
					s.Start()
					s.views["b"].Pause()
					s.Delete("x")
					s.Put("y", "b")
					s.Put("z", "a")
					s.Settle()
					var reached func() bool
					if waitsBefore {
						reached = s.wait(version)
						require.False(s, reached(), "b may have x")
					}
					s.views["b"].Resume()
					s.Settle()
					if !waitsBefore {
						reached = s.wait(version)
					}
					require.True(s, reached())
					_, found := s.informer.Store().GetByKey(named("x"))
					require.False(s, found, "x was deleted at 3")
				})
			})
		}
	}
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

// As the base informer: what the store shows is there, though nobody waits any more.
func TestMerged_WaitForResourceVersionTakesALastLook(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	inViews(t, []string{"a"}, func(s *mergedStory) {
		expect := func(ctx context.Context, cause error) {
			t.Helper()
			for range 20 {
				require.NoError(s, s.informer.WaitForResourceVersion(ctx, "2"))
				require.ErrorIs(s, s.informer.WaitForResourceVersion(ctx, "3"), cause)
			}
		}
		require.ErrorIs(s, s.informer.WaitForResourceVersion(ended, "2"), context.Canceled, "it does not run yet")
		s.Put("x", "a")
		s.Start()
		expect(ended, context.Canceled)
		s.Stop()
		left := s.informer.merge.queue.Len()
		expect(context.Background(), sharedinformer.ErrStopped)
		require.Equal(s, left, s.informer.merge.queue.Len(), "nobody takes what is queued now")
	})
}

// The store's version says nothing of b before b has come to it.
func TestMerged_WaitForResourceVersionsLastLookIsAboutEverySource(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	inViews(t, []string{"a"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Put("y", "b")
		s.Start()
		require.NoError(s, s.informer.WaitForResourceVersion(ended, "3"))
		b := s.source("b")
		s.views["b"].Fail(errForbidden)
		s.views["b"].change(func() { s.views["b"].upTo, s.views["b"].paused = 2, true })
		require.NoError(s, s.informer.AddSource(b))
		require.ErrorIs(s, s.informer.WaitForResourceVersion(ended, "3"), context.Canceled, "b has not listed")
		s.views["b"].Fail(nil)
		s.Pass(time.Minute)
		require.Equal(s, "2", s.informer.Sources()[1].ResourceVersion)
		require.ErrorIs(s, s.informer.WaitForResourceVersion(ended, "3"), context.Canceled, "b is at 2")
		s.views["b"].Resume()
		s.Settle()
		require.NoError(s, s.informer.WaitForResourceVersion(ended, "3"))
		require.Equal(s, 2, s.informer.Store().Len())
	})
}

// A handler that does not return keeps the informer from its end. Nothing comes to the store any more.
func TestMerged_WaitForResourceVersionEndsBeforeTheHandlersDo(t *testing.T) {
	inViews(t, []string{"a"}, func(s *mergedStory) {
		hold := make(chan struct{})
		defer close(hold)
		_, err := s.informer.AddHandler(
			sharedinformer.HandlerFuncs[*config]{AddFunc: func(*config, bool) { <-hold }}, sharedinformer.HandlerOptions{})
		require.NoError(s, err)
		s.Put("x", "a")
		s.Start()
		ended := make(chan error, 1)
		go func() { ended <- s.informer.WaitForResourceVersion(context.Background(), "3") }()
		s.Settle()
		s.cancel()
		synctest.Wait()
		require.Len(s, ended, 1)
		require.ErrorIs(s, <-ended, sharedinformer.ErrStopped)
	})
}

func TestMerged_WaitForResourceVersionNeedsTheInOrderQueue(t *testing.T) {
	opts := Options[*config]{}
	opts.Queue = sharedinformer.PerKey
	informer, err := New[*config](nil, opts)
	require.NoError(t, err)
	require.ErrorIs(t, informer.WaitForResourceVersion(context.Background(), "1"), sharedinformer.ErrNoStoreVersion)
}

// Source a lists at 4, after it has missed 3: it cannot say at what version it lost x.
func TestMerged_WaitForResourceVersionWaitsForWhatASourceHasSaidSinceAnothersListLostIt(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a", "b")
		s.Start()
		s.views["b"].Pause()
		s.views["a"].Relist(func() { s.Put("x", "b"); s.Put("y", "a") })
		s.Pass(time.Minute)
		s.Expect("add x@2 initial", "add y@4")
		s.views["b"].change(func() { s.views["b"].upTo = 3 })
		s.Expect("update x@2→3")
		require.True(s, s.wait("3")())
		x, _ := s.informer.Store().GetByKey(named("x"))
		require.Equal(s, "3", x.ResourceVersion)
	})
}

// As above, but the grace is over before b tells of x.
func TestMerged_AMoveThatAListHasMissedIsSeenBeforeTheListsVersion(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Start()
		s.views["b"].Pause()
		s.views["a"].Relist(func() { s.Put("x", "b"); s.Put("y", "a") })
		s.Pass(time.Minute)
		s.Expect("add x@2 initial", "add y@4", "delete x@2 unseen")
		s.views["b"].change(func() { s.views["b"].upTo = 3 })
		s.Expect("add x@3")
		require.True(s, s.wait("3")())
		require.Equal(s, 2, s.informer.Store().Len())
	})
}

// Nobody has x, and a's list does not say since when. Until b has come to the list, or the grace ends, b might have it.
func TestMerged_WaitForResourceVersionWaitsForWhatAListHasLost(t *testing.T) {
	for name, end := range map[string]func(s *mergedStory){
		"until the grace ends":      func(s *mergedStory) { s.Pass(DefaultMoveGrace) },
		"until others come to it":   func(s *mergedStory) { s.views["b"].Resume() },
		"until the source is gone":  func(s *mergedStory) { s.informer.RemoveSource("b") },
		"until a bookmark tells it": func(s *mergedStory) { s.views["b"].Resume(); s.views["b"].Bookmark() },
	} {
		t.Run(name, func(t *testing.T) {
			inViews(t, []string{"a", "b"}, func(s *mergedStory) {
				s.Put("x", "a")
				s.Start()
				s.views["b"].Pause()
				asked := s.wait("3")
				s.views["a"].Relist(func() { s.Delete("x"); s.Put("y", "b"); s.Put("z", "a", "b") })
				s.views["b"].change(func() { s.views["b"].upTo = 4 })
				for s.Settle(); s.informer.Sources()[0].ResourceVersion != "5"; s.Settle() {
					s.Pass(10 * time.Millisecond)
				}
				require.False(s, asked(), "x may have been deleted at 3")
				askedAfter := s.wait("4")
				require.False(s, askedAfter(), "x may have been deleted at 3")
				end(s)
				require.True(s, asked())
				require.True(s, askedAfter())
				_, found := s.informer.Store().GetByKey(named("x"))
				require.False(s, found)
				require.GreaterOrEqual(s, s.informer.Store().ResourceVersion(), "4")
			})
		})
	}
}

// A deletion that a watch tells has a version of its own: nobody who waits for less waits for its grace.
func TestMerged_WaitForResourceVersionDoesNotWaitForALaterDeletion(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Start()
		s.views["b"].Pause()
		s.Put("y", "b")
		s.Delete("x")
		s.views["b"].change(func() { s.views["b"].upTo = 3 })
		s.Settle()
		require.True(s, s.wait("3")())
		require.Equal(s, 2, s.informer.Store().Len())
	})
}

// unordered is a view whose lists have a version that cannot be compared.
type unordered struct {
	*view
	version string
}

func (u unordered) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[*config], error) {
	list, err := u.view.List(ctx, opts)
	if err == nil {
		list.ResourceVersion = u.version
	}
	return list, err
}

func (u unordered) Watch(ctx context.Context, _ metav1.ListOptions) (listwatch.Stream[*config], error) {
	return u.view.Watch(ctx, metav1.ListOptions{ResourceVersion: "1"})
}

func TestMerged_WaitForResourceVersionIsAnErrorIfTheStoresVersionCannotBeCompared(t *testing.T) {
	for name, before := range map[string]bool{"asked before the list": true, "asked after it": false} {
		t.Run(name, func(t *testing.T) {
			inViews(t, []string{"a"}, func(s *mergedStory) {
				v := s.views["a"]
				s.informer.RemoveSource("a")
				require.NoError(s, s.informer.AddSource(Source[*config]{Name: "a", ListerWatcher: unordered{v, "v1"}}))
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				v.Fail(errForbidden)
				s.Start()
				ended := make(chan error, 1)
				wait := func() { ended <- s.informer.WaitForResourceVersion(ctx, "5") }
				if before {
					go wait()
					s.Settle()
				}
				v.Fail(nil)
				s.Pass(time.Minute)
				if !before {
					go wait()
				}
				s.Settle()
				require.Len(s, ended, 1)
				require.ErrorContains(s, <-ended, `the store is at resourceVersion "v1"`)
				require.Error(s, s.informer.Informer.WaitForResourceVersion(ctx, "5"), "as the base informer")
				require.NoError(s, ctx.Err())
			})
		})
	}
}

// As with the base informer, 0 is the version of nothing.
func TestMerged_WaitForResourceVersionWaitsForASourceWhoseListIsAtZero(t *testing.T) {
	inViews(t, nil, func(s *mergedStory) {
		v := s.labelled("a")
		v.Pause()
		require.NoError(s, s.informer.AddSource(Source[*config]{Name: "a", ListerWatcher: unordered{v, "0"}}))
		s.Start()
		require.True(s, s.informer.HasSynced())
		reached := s.wait("2")
		require.False(s, reached())
		v.Resume()
		s.Put("x", "a")
		require.True(s, reached())
		require.Equal(s, 1, s.informer.Store().Len())
	})
}

func TestMerged_WaitForResourceVersionDoesNotWaitForASourceThatWasRemoved(t *testing.T) {
	inViews(t, []string{"a"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Start()
		reached := s.wait("9")
		require.False(s, reached())
		s.informer.RemoveSource("a")
		require.True(s, reached(), "there is no source")
		require.Zero(s, s.informer.Store().Len())
		require.True(s, s.wait("9")())
		require.NoError(s, s.informer.AddSource(s.source("a")))
		s.Settle()
		reached = s.wait("3")
		require.False(s, reached(), "a is at 2")
		s.Put("x", "a")
		require.True(s, reached())
	})
}

func TestMerged_WaitForResourceVersionWaitsForNothingIfThereWasNeverASource(t *testing.T) {
	inViews(t, nil, func(s *mergedStory) {
		asked := s.wait("9")
		synctest.Wait()
		s.Start()
		require.True(s, asked())
		require.True(s, s.wait("9")())
		require.NoError(s, s.informer.AddSource(s.source("a")))
		s.Settle()
		reached := s.wait("3")
		require.False(s, reached())
		s.Put("x", "a")
		s.Put("x", "a")
		require.True(s, reached())
	})
}

// 0 counts as no version, whichever source has it.
func TestMerged_WaitForResourceVersionWaitsForEverySourceAtZero(t *testing.T) {
	inViews(t, []string{"b"}, func(s *mergedStory) {
		v := s.labelled("a")
		v.Pause()
		require.NoError(s, s.informer.AddSource(Source[*config]{Name: "a", ListerWatcher: unordered{v, "0"}}))
		s.Put("y", "a")
		s.Put("x", "b")
		s.Start()
		reached := s.wait("3")
		require.False(s, reached(), "a has not told y@2")
		v.Resume()
		s.Put("z", "a")
		require.True(s, reached())
	})
}
