package merged

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/sharedinformer"
)

func TestMerged_OneStoreHoldsWhatAllSourcesHave(t *testing.T) {
	inViews(t, []string{"blue", "green"}, func(s *mergedStory) {
		s.PutKey(key{Namespace: "blue", Name: "x"})
		s.PutKey(key{Namespace: "green", Name: "x"})
		s.PutKey(key{Namespace: "red", Name: "x"})
		s.Start()
		s.Expect("add x@2 initial", "add x@3 initial")
		objs, err := s.informer.Store().ByIndex(sharedinformer.NamespaceIndex, "green")
		require.NoError(s, err)
		require.Len(s, objs, 1)
		require.Equal(s, 2, s.informer.Store().Len())
	})
}

func TestMerged_HasSyncedOnlyOnceEverySourceHasListed(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.views["b"].Fail(errForbidden)
		s.Put("x", "a")
		s.Start()
		s.Put("y", "a")
		s.Pass(time.Minute)
		require.False(s, s.informer.HasSynced())
		require.Empty(s, s.told.take())
		s.views["b"].Fail(nil)
		s.Put("z", "b")
		s.Pass(time.Minute)
		require.True(s, s.informer.HasSynced())
		s.Expect("add x@2 initial", "add y@3 initial", "add z@4 initial")
	})
}

func TestMerged_WaitForSyncNamesTheSourceWhoseListFails(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.views["b"].Fail(errForbidden)
		s.Start()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := s.informer.WaitForSync(ctx)
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.ErrorContains(s, err, `source "b": `)
		require.ErrorContains(s, err, "forbidden")
		require.NotContains(s, err.Error(), `source "a"`)
	})
}

func TestMerged_RelistOfOneSourceKeepsTheOthersObjects(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Put("y", "b")
		s.Put("both", "a", "b")
		s.Start()
		s.told.take()
		s.views["a"].Relist(func() {
			s.Delete("x")
			s.Put("both", "b")
		})
		s.Pass(time.Minute)
		s.Expect("update both@4→6", "delete x@2 unseen")
		require.Equal(s, 2, s.informer.Store().Len())
	})
}

// TestMerged_AMoveBetweenSelectorsIsAnUpdateWhicheverSourceSpeaksFirst lets the source that loses the object be
// first, and the one that gets it.
func TestMerged_AMoveBetweenSelectorsIsAnUpdateWhicheverSourceSpeaksFirst(t *testing.T) {
	for _, late := range []string{"a", "b"} {
		t.Run(late+" is late", func(t *testing.T) {
			inViews(t, []string{"a", "b"}, func(s *mergedStory) {
				s.Put("x", "a")
				s.Start()
				s.told.take()
				s.views[late].Pause()
				s.Put("x", "b")
				s.Pass(DefaultMoveGrace - 1)
				s.views[late].Resume()
				s.Expect("update x@2→3")
				s.Pass(time.Hour)
				require.Empty(s, s.told.take())
			})
		})
	}
}

func TestMerged_AMoveThatTakesLongerThanTheGraceIsADeletionAndAnAdd(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Start()
		s.told.take()
		s.views["b"].Pause()
		s.Put("x", "b")
		s.Pass(DefaultMoveGrace)
		s.Expect("delete x@3")
		s.views["b"].Resume()
		s.Expect("add x@3")
	})
}

func TestMerged_ADeletionWaitsNoLongerThanTheOtherSourcesNeed(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Start()
		s.told.take()
		s.Delete("x")
		s.Settle()
		require.Empty(s, s.told.take(), "b might have it")
		s.views["b"].Bookmark()
		s.Expect("delete x@3")
	})
}

func TestMerged_ADeletionInANamespaceWaitsForNobody(t *testing.T) {
	inViews(t, []string{"blue", "default"}, func(s *mergedStory) {
		s.Put("x")
		s.Start()
		s.told.take()
		s.Delete("x")
		s.Expect("delete x@3")
		require.Empty(s, s.informer.merge.entries)
	})
}

func TestMerged_SameVersionsOfTwoSourcesAreOneEvent(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a", "b")
		s.Start()
		s.Expect("add x@2 initial")
		s.Put("x", "a", "b")
		s.Expect("update x@2→3")
		s.Put("y", "a", "b")
		s.Expect("add y@4")
		s.Delete("x")
		s.Expect("delete x@5")
		s.Pass(time.Hour)
		require.Empty(s, s.told.take())
	})
}

func TestMerged_ALateEventDoesNotSetAnObjectBack(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a", "b")
		s.Start()
		s.told.take()
		s.views["b"].Pause()
		s.Put("x", "a", "b")
		s.Put("x", "a", "b")
		s.Expect("update x@2→3", "update x@3→4")
		s.views["b"].Resume()
		s.Settle()
		s.Put("x", "a", "b")
		s.Expect("update x@4→5")
	})
}

// TestMerged_ADeletionThatOneSourceHearsLateEndsTheObjectOnce: while b still has an older version, nobody can tell
// whether the object is gone or has only left a.
func TestMerged_ADeletionThatOneSourceHearsLateEndsTheObjectOnce(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a", "b")
		s.Start()
		s.told.take()
		s.views["b"].Pause()
		s.Put("x", "a", "b")
		s.Delete("x")
		s.Expect("update x@2→3")
		s.Pass(time.Minute)
		require.Empty(s, s.told.take(), "b has it")
		s.views["b"].Resume()
		s.Expect("delete x@4")
		s.Pass(time.Hour)
		require.Empty(s, s.told.take())
	})
}

func TestMerged_ALateEventBringsNobodyBack(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Start()
		s.told.take()
		s.views["b"].Pause()
		s.Put("x", "a", "b")
		s.Delete("x")
		s.Pass(DefaultMoveGrace)
		s.Expect("update x@2→3", "delete x@4")
		s.Put("y", "b")
		s.views["b"].Resume() // b adds x@2 and deletes x@3
		s.Expect("add y@5")
		require.Len(s, s.informer.merge.entries, 1, "nothing is remembered of x")
	})
}

func TestMerged_AnObjectMadeAgainIsADeletionAndAnAdd(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Start()
		s.told.take()
		s.Delete("x")
		s.Put("x", "a")
		s.Expect("delete x@3", "add x@4")
	})
}

func TestMerged_AnObjectThatOneSourceCannotReadStays(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Start()
		s.told.take()
		s.views["a"].bad[named("x")] = true
		s.views["a"].Relist(func() { s.Put("x", "a") })
		s.Pass(time.Minute)
		require.Empty(s, s.told.take())
		require.Equal(s, 1, s.informer.Store().Len())
	})
}

func TestMerged_TheStoresVersionIsTheSlowestSources(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Start()
		s.Put("x", "a")
		s.Put("x", "a")
		s.Settle()
		require.Equal(s, "2", s.informer.Store().ResourceVersion())
		s.views["a"].Bookmark()
		s.Settle()
		require.Equal(s, "2", s.informer.Store().ResourceVersion())
		s.views["b"].Bookmark()
		s.Settle()
		require.Equal(s, "4", s.informer.Store().ResourceVersion())
		require.Equal(s, "4", s.informer.LastSyncResourceVersion())
	})
}

func TestMerged_WaitForResourceVersionWaitsForEverySource(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Start()
		s.Put("x", "a", "b")
		s.Put("x", "a", "b")
		s.views["b"].Pause()
		s.Put("x", "a", "b")
		s.Settle()
		require.NoError(s, s.informer.WaitForResourceVersion(context.Background(), "3"), "though no bookmark came")
		reached := false
		go func() {
			reached = s.informer.WaitForResourceVersion(context.Background(), "4") == nil
		}()
		s.Pass(time.Minute)
		require.False(s, reached)
		s.views["b"].Resume()
		s.Settle()
		require.True(s, reached, "though no bookmark came")
	})
}

func TestMerged_WithThePerKeyQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := Options[*config]{Options: sharedinformer.Options[*config]{Queue: sharedinformer.PerKey}}
		s := newMergedStory(t, opts, "a", "b")
		defer s.Stop()
		s.Put("x", "a")
		s.Start()
		s.Put("x", "b")
		s.Put("y", "a", "b")
		s.Delete("y")
		s.Pass(time.Minute)
		require.Equal(t, map[string]string{"x": "3"}, s.told.believes())
		require.Empty(t, s.told.lies)
	})
}

func TestMerged_SourcesMustHaveNamesOfTheirOwnAndAListerWatcher(t *testing.T) {
	v := newHistory().labelled("a")
	_, err := New([]Source[*config]{{Name: "a", ListerWatcher: v}, {Name: "a", ListerWatcher: v}}, Options[*config]{})
	require.ErrorContains(t, err, `there is a source "a" already`)
	_, err = New([]Source[*config]{{Name: "a"}}, Options[*config]{})
	require.ErrorContains(t, err, `source "a" has no ListerWatcher`)
}

func TestMerged_AStoppedInformerTakesNoSource(t *testing.T) {
	inViews(t, []string{"a"}, func(s *mergedStory) {
		s.Start()
		s.Stop()
		require.ErrorIs(s, s.informer.AddSource(s.source("b")), sharedinformer.ErrStopped)
	})
}

func TestMerged_StatsTellOfEachSource(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.views["b"].Fail(errForbidden)
		s.Put("x", "a")
		s.Start()
		stats := s.informer.Sources()
		require.Equal(s, "a", stats[0].Name)
		require.Equal(s, 1, stats[0].Objects)
		require.Equal(s, "2", stats[0].ResourceVersion)
		require.NoError(s, stats[0].LastError)
		require.Empty(s, stats[1].ResourceVersion)
		require.Error(s, stats[1].LastError)
		require.EqualValues(s, 1, s.informer.Stats().Reflector.PagedLists)
	})
}
