package sharedinformer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// restore sets the server back to a revision, as a backup does.
func (c *history) restore(revision int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = c.log[:revision]
	clear(c.objects)
	for _, ch := range c.log {
		c.objects[ch.key] = ch.obj
		if ch.obj == nil {
			delete(c.objects, ch.key)
		}
	}
}

func (c *history) putUpTo(revision int, name string, labels ...string) {
	for c.revisionLocked() < revision {
		c.Put(name, labels...)
	}
}

func TestMerged_ABackupRestoredSetsEveryObjectBackOnceAllSourcesShowIt(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.putUpTo(7, "x", "a", "b")
		s.Start()
		s.Expect("add x@7 initial")
		s.views["a"].Relist(func() { s.restore(4) })
		s.Pass(time.Minute)
		require.Empty(s, s.told.take(), "b does not say so")
		s.views["b"].Relist(func() {})
		s.Pass(time.Minute)
		s.Expect("update x@7→4")
		require.Equal(s, "4", s.informer.Store().ResourceVersion())
	})
}

func TestMerged_ABackupRestoredIsNoticedAlsoIfTheServerHasComeAsFarAgain(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.putUpTo(7, "x", "a")
		s.Start()
		s.Expect("add x@7 initial")
		s.views["a"].Relist(func() { s.restore(4); s.putUpTo(9, "y", "a") })
		s.Pass(time.Minute)
		s.Expect("update x@7→4", "add y@9")
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
		s.views["b"].Relist(func() { s.restore(4) })
		s.Pass(time.Minute)
		require.Empty(s, s.told.take())
		s.informer.RemoveSource("a")
		s.Settle()
		require.ElementsMatch(s, []string{"delete z@10 unseen", "update x@8→4"}, s.told.take())
		s.Put("x", "b")
		s.Put("z", "b")
		s.Expect("update x@4→5", "add z@6")
	})
}
