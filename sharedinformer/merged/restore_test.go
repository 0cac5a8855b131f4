package merged

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// restore sets the server back to a revision, as a backup does.
func (s *mergedStory) restore(revision int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = s.log[:revision]
	clear(s.objects)
	for _, ch := range s.log {
		s.objects[ch.key] = ch.obj
		if ch.obj == nil {
			delete(s.objects, ch.key)
		}
	}
	for _, v := range s.views {
		v.bookmark = 0
	}
}

// putUpTo puts until that makes the revision.
func (c *history) putUpTo(revision int, name string, labels ...string) {
	for c.revision() < revision {
		c.Put(name, labels...)
	}
}

func (c *history) revision() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revisionLocked()
}

// relistAll makes the named views list again, one after the other.
func (s *mergedStory) relistAll(names ...string) {
	for _, name := range names {
		if v := s.views[name]; v != nil {
			v.change(func() { v.streams++; v.compacted = math.MaxInt })
			s.Settle()
			v.change(func() { v.compacted = 0 })
			s.Pass(5 * time.Second)
		}
	}
}

func TestMerged_ABackupRestoredSetsEveryObjectBackOnceAllSourcesShowIt(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.putUpTo(7, "x", "a", "b")
		s.Start()
		s.Expect("add x@7 initial")
		s.restore(4)
		s.relistAll("a")
		s.Expect() // b does not say so
		s.relistAll("b")
		s.Expect("update x@7→4")
		require.Equal(s, "4", s.informer.Store().ResourceVersion())
	})
}

func TestMerged_ABackupRestoredIsNoticedAlsoIfTheServerHasComeAsFarAgain(t *testing.T) {
	who := map[string][]string{"by who had it": {"a"}, "by who never had it": {"b"}, "by both": {"a", "b"}}
	for name, had := range who {
		t.Run(name, func(t *testing.T) {
			inViews(t, []string{"a", "b"}, func(s *mergedStory) {
				s.putUpTo(4, "x", "a")
				s.putUpTo(7, "x", had...)
				s.Start()
				s.restore(4)
				s.putUpTo(9, "y", "a")
				s.relistAll("a", "b")
				require.Equal(s, map[string]string{"x": "4", "y": "9"}, s.told.believes())
			})
		})
	}
}

func TestMerged_ABackupRestoredIsNoticedAlsoIfTheObjectHasChangedSince(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.putUpTo(4, "x", "a")
		s.putUpTo(7, "x", "a", "b")
		s.Start()
		s.restore(4)
		s.relistAll("a")
		s.Put("x", "a")
		s.putUpTo(9, "y", "a")
		s.relistAll("b")
		require.Equal(s, map[string]string{"x": "5", "y": "9"}, s.told.believes())
	})
}

func TestMerged_ABackupRestoredIsNoticedAlsoIfTheObjectBearsTheSameVersionAgain(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.putUpTo(7, "x", "a", "b")
		s.Start()
		s.restore(3)
		s.Delete("x")
		s.putUpTo(7, "x", "a", "b")
		s.relistAll("a", "b")
		s.Expect("add x@7 initial", "delete x@7 unseen", "add x@7")
	})
}

// Source a is the last that does not show that the server was set back.
func TestMerged_ASourceRemovedAfterABackupWasRestoredLeavesWhatIsThere(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.putUpTo(4, "x", "b")
		s.putUpTo(8, "x", "a")
		s.putUpTo(10, "z", "a")
		s.Start()
		s.Expect("add x@8 initial", "add z@10 initial")
		s.views["a"].Fail(errForbidden)
		s.restore(4)
		s.relistAll("b")
		s.Expect()
		s.informer.RemoveSource("a")
		s.Settle()
		require.ElementsMatch(s, []string{"delete z@10 unseen", "update x@8→4"}, s.told.take())
		s.Put("x", "b")
		s.Put("z", "b")
		s.Expect("update x@4→5", "add z@6")
	})
}

// Source c, which has not noticed, never had x.
func TestMerged_ASourceRemovedAfterABackupWasRestoredLeavesWhatOneSourceHas(t *testing.T) {
	inViews(t, []string{"a", "b", "c"}, func(s *mergedStory) {
		s.putUpTo(7, "x", "a", "b")
		s.putUpTo(8, "z", "c")
		s.Start()
		s.Expect("add x@7 initial", "add z@8 initial")
		s.restore(4)
		s.relistAll("b")
		s.informer.RemoveSource("a")
		s.Expect("update x@7→4")
		s.Put("x", "b")
		s.Expect("update x@4→5")
	})
}

// Source a was at 6 when it was set back, c at 20; when c is removed, a is at 8.
func TestMerged_ASourceRemovedAfterABackupWasRestoredIsNotWaitedForThoughItWasFurther(t *testing.T) {
	inViews(t, []string{"a", "c"}, func(s *mergedStory) {
		s.putUpTo(6, "y", "a")
		s.Start()
		s.views["a"].Pause()
		s.putUpTo(20, "x", "a", "c")
		s.Settle()
		s.views["c"].Fail(errForbidden)
		s.restore(5)
		s.views["a"].Resume()
		s.relistAll("a")
		s.putUpTo(8, "y", "a")
		s.Settle()
		s.informer.RemoveSource("c")
		s.Put("x", "a")
		s.Settle()
		require.Equal(s, map[string]string{"x": "9", "y": "8"}, s.told.believes())
	})
}

// Source a never came further than the backup, so it has what is true, and no list of its own that goes back.
func TestMerged_ABackupRestoredThatOneSourceNoticesSetsBackWhatAnotherHas(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.putUpTo(4, "y", "a")
		s.Start()
		s.views["a"].Pause()
		s.putUpTo(5, "x", "a")
		s.putUpTo(10, "x", "b")
		s.Settle()
		s.restore(5)
		s.views["a"].Resume()
		s.putUpTo(8, "y", "a")
		s.Settle()
		require.Equal(s, map[string]string{"x": "10", "y": "8"}, s.told.believes())
		s.relistAll("b")
		require.Equal(s, map[string]string{"x": "5", "y": "8"}, s.told.believes())
	})
}

func TestMerged_ABackupRestoredLongAgoLetsNothingGoBack(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.putUpTo(7, "x", "a", "b")
		s.Start()
		s.restore(4)
		s.relistAll("a", "b")
		s.Expect("add x@7 initial", "update x@7→4")
		s.putUpTo(8, "x", "a", "b")
		s.Settle()
		s.told.take()
		s.views["b"].Pause()
		s.putUpTo(10, "x", "a", "b")
		s.Settle()
		s.views["b"].change(func() { s.views["b"].upTo = 9 })
		s.Expect("update x@8→9", "update x@9→10")
		s.informer.RemoveSource("a")
		s.Expect()
		s.views["b"].Resume()
		s.Expect()
	})
}

func TestMerged_EqualsTheTruthAtRestAfterABackupWasRestoredInEveryHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		scenes := rapid.SliceOfN(mergedSceneGen, 0, 30)
		before, after := scenes.Draw(rt, "before"), scenes.Draw(rt, "after")
		backup := rapid.IntRange(1, 30).Draw(rt, "backup")
		known := rapid.Bool().Draw(rt, "known")
		names := rapid.Permutation([]string{"a", "b", "c"}).Draw(rt, "names")
		var problem error
		synctest.Test(t, func(t *testing.T) {
			s := newMergedStory(t, Options[*config]{}, "a", "b")
			defer s.Stop()
			s.Start()
			for _, sc := range before {
				s.play(sc)
			}
			s.Settle()
			newest := s.revision()
			s.restore(min(backup, newest))
			s.heal() // who was late has another server
			if known {
				s.relistAll(names...)
			}
			for _, sc := range after {
				s.play(sc)
			}
			s.heal()
			if !known {
				s.relistAll(names...)
			}
			s.putUpTo(newest+1, "w", "a") // what a source showed that was removed before is waited for until then
			s.bookmarks()
			if slices.ContainsFunc(before, func(sc mergedScene) bool { return sc.Verb == "remove source" }) {
				s.relistAll(names...) // no list has gone back behind what that source showed
			}
			problem = s.judge()
		})
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}
