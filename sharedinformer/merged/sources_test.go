package merged

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMerged_ASourceAddedWhileRunningIsToldOf(t *testing.T) {
	inViews(t, []string{"a"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Put("y", "b")
		s.Put("both", "a", "b")
		s.Start()
		s.Expect("add both@4 initial", "add x@2 initial")
		require.NoError(s, s.informer.AddSource(s.source("b")))
		s.Expect("add y@3")
		s.Put("y", "b")
		s.Expect("update y@3→5")
		require.ErrorContains(s, s.informer.AddSource(s.source("b")), `there is a source "b" already`)
	})
}

func TestMerged_ASourceRemovedTakesOnlyWhatNoOtherHas(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Put("y", "b")
		s.Put("both", "a", "b")
		s.Start()
		s.told.take()
		require.True(s, s.informer.RemoveSource("b"))
		require.False(s, s.informer.RemoveSource("b"))
		s.Expect("delete y@3 unseen")
		s.Put("both", "a", "b")
		s.Put("z", "b")
		s.Expect("update both@4→5")
	})
}

func TestMerged_ASourceRemovedTakesAtOnceWhatOthersHaveNotComeTo(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a")
		s.Start()
		s.told.take()
		s.Put("y", "b")
		s.Expect("add y@3")
		require.True(s, s.informer.RemoveSource("b"))
		s.Expect("delete y@3 unseen")
	})
}

func TestMerged_SourcesRemovedInTurnTakeAtOnceWhatOthersHaveNotComeTo(t *testing.T) {
	inViews(t, []string{"a", "b", "c"}, func(s *mergedStory) {
		s.Put("x", "a", "b")
		s.Start()
		s.views["b"].Pause()
		s.views["c"].Pause()
		s.Put("x", "a", "b")
		s.Expect("add x@2 initial", "update x@2→3")
		s.informer.RemoveSource("a")
		s.Expect()
		s.informer.RemoveSource("b")
		s.Expect("delete x@3 unseen")
	})
}

func TestMerged_RemovingTheSourceThatFailsLetsTheOthersSync(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.views["b"].Fail(errForbidden)
		s.Put("x", "a")
		s.Start()
		require.False(s, s.informer.HasSynced())
		s.informer.RemoveSource("b")
		s.Expect("add x@2 initial")
		require.True(s, s.informer.HasSynced())
	})
}

func TestMerged_WithoutSourcesItSyncsAtOnce(t *testing.T) {
	inViews(t, nil, func(s *mergedStory) {
		s.Start()
		require.True(s, s.informer.HasSynced())
		s.Put("x", "a")
		require.NoError(s, s.informer.AddSource(s.source("a")))
		s.Expect("add x@2")
	})
}

// Source b is late: it has yet to say that it had x, in a version before the one that a, which goes, has shown.
func TestMerged_WhatARemovedSourceShowedDoesNotGoBack(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Start()
		s.views["b"].Pause()
		s.Put("x", "b")
		s.Put("x", "a")
		s.Expect("add x@3")
		s.informer.RemoveSource("a")
		s.Expect("delete x@3 unseen")
		s.views["b"].Resume()
		s.Expect()
	})
}

// Source b has x@2 when it passes 3, at which it cannot read x. What it has keeps x there, and is not news.
func TestMerged_WhatASourceCouldNotReadDoesNotGoBack(t *testing.T) {
	for name, comeTo3 := range map[string]func(s *mergedStory, b *view){
		"by an event": func(s *mergedStory, b *view) {
			b.Resume()
			s.bookmarks()
		},
		"by a list": func(s *mergedStory, b *view) {
			b.Resume()
			b.Relist(func() {})
			s.Pass(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inViews(t, []string{"a", "b"}, func(s *mergedStory) {
				b := s.views["b"]
				s.Start()
				b.Pause()
				s.Put("x", "a", "b")
				s.Put("x", "a", "b")
				s.Expect("add x@2", "update x@2→3")
				b.change(func() { b.upTo = 2 })
				s.Settle()
				b.Garble("x")
				comeTo3(s, b)
				require.Equal(s, 1, s.informer.Sources()[1].Objects)
				require.Equal(s, "3", s.informer.Sources()[1].ResourceVersion)
				s.informer.RemoveSource("a")
				s.Expect()
				require.Equal(s, 1, s.informer.Store().Len())
				clear(b.bad)
				s.Put("x", "b")
				s.Expect("update x@3→4")
				s.Delete("x")
				s.Expect("delete x@5")
			})
		})
	}
}

// As above, but b's transform fails.
func TestMerged_WhatASourceCouldNotTransformDoesNotGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := false
		opts := Options[*config]{}
		opts.Transform = func(obj *config) (*config, error) {
			if fails {
				return nil, errForbidden
			}
			return obj, nil
		}
		s := newMergedStory(t, opts, "a", "b")
		defer s.Stop()
		b := s.views["b"]
		s.Start()
		b.Pause()
		s.Put("x", "a", "b")
		s.Put("x", "a", "b")
		s.Expect("add x@2", "update x@2→3")
		b.change(func() { b.upTo = 2 })
		s.Settle()
		fails = true
		b.Resume()
		s.Settle()
		fails = false
		require.Equal(s, "3", s.informer.Sources()[1].ResourceVersion)
		s.informer.RemoveSource("a")
		s.Expect()
		s.Put("x", "b")
		s.Expect("update x@3→4")
	})
}

// Source b has told that x is deleted. Source a is late, and the last that has x.
func TestMerged_ASourceRemovedAfterADeletionThatAnotherHasToldTakesAtOnce(t *testing.T) {
	inViews(t, []string{"a", "b", "c"}, func(s *mergedStory) {
		s.Put("x", "a", "b")
		s.Start()
		s.Expect("add x@2 initial")
		s.views["a"].Pause()
		s.views["c"].Pause()
		s.Delete("x")
		s.Expect()
		s.informer.RemoveSource("a")
		s.Expect("delete x@3")
		s.views["c"].Resume()
		s.Expect()
	})
}

// As above, but x comes to c at the version that a has shown.
func TestMerged_ASourceRemovedDuringAMoveLeavesTheMoveOneUpdate(t *testing.T) {
	inViews(t, []string{"a", "b", "c"}, func(s *mergedStory) {
		s.Put("x", "a", "b")
		s.Start()
		s.Expect("add x@2 initial")
		s.views["b"].Pause()
		s.views["c"].Pause()
		s.Put("x", "a", "c")
		s.Expect("update x@2→3")
		s.informer.RemoveSource("a")
		s.views["b"].Resume()
		s.Pass(DefaultMoveGrace / 2)
		s.Expect()
		s.views["c"].Resume()
		s.Put("x", "c")
		s.Expect("update x@3→4")
	})
}

func TestMerged_ADeletionAtTheVersionThatARemovedSourceShowedIsSeen(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a", "b")
		s.Start()
		s.views["b"].Pause()
		s.Put("x", "a")
		s.Expect("add x@2 initial", "update x@2→3")
		s.informer.RemoveSource("a")
		s.Expect()
		s.views["b"].Resume()
		s.Expect("delete x@3")
	})
}

// Source b lists x before it is deleted, and that list comes late: a has said by then that x is gone, and more.
func TestMerged_AnObjectThatEndsDuringTheListOfASourceDoesNotComeBack(t *testing.T) {
	inViews(t, []string{"a"}, func(s *mergedStory) {
		s.Put("x", "a", "b")
		s.Start()
		s.Expect("add x@2 initial")
		b := s.source("b")
		s.views["b"].Pause()
		s.views["b"].Fail(errForbidden)
		require.NoError(s, s.informer.AddSource(b))
		s.Delete("x")
		s.Pass(DefaultMoveGrace)
		s.Expect("delete x@3")
		s.views["a"].Bookmark()
		s.views["b"].Fail(nil)
		s.Pass(10 * time.Second)
		require.Equal(s, "2", s.informer.Sources()[1].ResourceVersion, "the list has come")
		s.Expect()
		s.views["b"].Resume()
		s.Expect()
	})
}
