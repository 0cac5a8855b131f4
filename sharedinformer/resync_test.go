package sharedinformer

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/listwatch"
)

func TestResync_EachHandlerAtItsOwnPace(t *testing.T) {
	bothQueues(t, Options[*config]{ResyncPeriod: 10 * time.Second}, func(s *story) {
		s.server.Put("a", "1")
		usual, slow, never := newRecorder(), newRecorder(), newRecorder()
		s.Add(usual, HandlerOptions{})
		s.Add(slow, HandlerOptions{ResyncPeriod: 30 * time.Second})
		s.Add(never, HandlerOptions{ResyncPeriod: NoResync})
		s.Start()
		for _, r := range []*recorder{usual, slow, never} {
			s.Expect(r, "add a@1 initial")
		}
		s.Pass(time.Minute + time.Second)
		require.Len(s, usual.take(), 6)
		s.Expect(slow, "update a@1→1", "update a@1→1")
		require.Empty(s, never.take())

		late := newRecorder()
		s.Add(late, HandlerOptions{ResyncPeriod: time.Second}) // raised to 10 s
		s.Expect(late, "add a@1 initial")
		s.Pass(8 * time.Second)
		require.Empty(s, late.take())
		s.Pass(time.Minute)
		require.Len(s, late.take(), 5) // first due at 71 s, looked at 80 s
	})
}

func TestResync_TheShortestPeriodBeforeTheStartRules(t *testing.T) {
	inVirtualTime(t, Options[*config]{ResyncPeriod: time.Hour}, func(s *story) {
		s.server.Put("a", "1")
		hourly, hasty := newRecorder(), newRecorder()
		s.Add(hourly, HandlerOptions{})
		s.Add(hasty, HandlerOptions{ResyncPeriod: time.Millisecond}) // raised to a second
		s.Start()
		s.Pass(10*time.Second + time.Millisecond)
		require.Len(s, hasty.take(), 1+10)
		require.Len(s, hourly.take(), 1)
	})
}

func TestResync_NoneWithoutAPeriodOfTheInformer(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		s.server.Put("a", "1")
		r := newRecorder()
		s.Add(r, HandlerOptions{ResyncPeriod: time.Second})
		s.Start()
		s.Expect(r, "add a@1 initial")
		s.Pass(time.Minute)
		require.Empty(s, r.take())
	})
}

func TestResync_UnchangedVersionsOfARelistGoToWhoIsDue(t *testing.T) {
	bothQueues(t, Options[*config]{ResyncPeriod: 10 * time.Second}, func(s *story) {
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		usual, never := newRecorder(), newRecorder()
		s.Add(usual, HandlerOptions{})
		s.Add(never, HandlerOptions{ResyncPeriod: NoResync})
		s.Start()
		s.server.Unobserved(func() { s.server.Put("b", "2") })
		s.Pass(3 * time.Second)
		early := []string{"add a@1 initial", "add b@2 initial", "update a@1→1", "update b@2→3"}
		s.Expect(usual, early...)
		s.Expect(never, early...) // before the first look everyone counts as due

		s.Pass(12 * time.Second) // a resync: from now on the one is due and the other is not
		usual.take()
		require.Empty(s, never.take())
		s.server.Unobserved(func() { s.server.Put("b", "3") })
		s.Pass(3 * time.Second)
		s.Expect(never, "update b@3→5")
		s.Expect(usual, "update a@1→1", "update b@3→5")
	})
}

func TestResync_PeriodBeginsAnewWithAList(t *testing.T) {
	inVirtualTime(t, Options[*config]{ResyncPeriod: 10 * time.Second}, func(s *story) {
		s.server.Put("a", "1")
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		s.Pass(5 * time.Second)
		s.server.Compact()
		s.Pass(8 * time.Second)
		s.Expect(r, "add a@1 initial", "update a@1→1")
		s.Pass(4 * time.Second)
		s.Expect(r, "update a@1→1")
	})
}

// A server that was set back to a backup gives out its numbers a second time: the same version of the same object is another
// state then.
func TestResync_AVersionThatWasGivenTwiceGoesToAllAfterARestoredBackup(t *testing.T) {
	for name, lost := range map[string][]string{"older than the store": {"b", "c"}, "as old as the store": {}} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, Options[*config]{ResyncPeriod: time.Hour}, func(s *story) {
				s.server.Put("a", "kept")
				s.server.Put("z", "kept")
				backup := s.server.revision
				s.server.Put("a", "lost")
				var want []string
				for _, name := range lost {
					s.server.Put(name, "lost")
					want = append(want, fmt.Sprintf("delete %s@%d unseen", name, s.server.revision))
				}
				r := newRecorder()
				s.Add(r, HandlerOptions{ResyncPeriod: NoResync}) // which is not told of versions that it has, once somebody has looked
				s.Start()
				s.Pass(90 * time.Minute)
				r.take()
				s.server.Unobserved(func() {
					s.server.Restore(backup)
					s.server.Put("a", "made anew")
					s.Pass(10 * time.Second) // it lists, as its version is gone
				})
				s.Pass(10 * time.Second)
				told := r.take()
				require.Equal(t, "made anew", r.view[named("a")].Data["value"])
				require.Subset(t, told, append(want, "update a@3→3"))
				require.NotContains(t, told, "update z@2→2")
			})
		})
	}
}

// Restore sets the server back to a revision, as from a backup: what came after never was.
func (s *server) Restore(revision int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = s.history[:revision]
	s.revision, s.objects = revision, map[key]*config{}
	for _, event := range s.history {
		s.objects[listwatch.KeyOf(event.Object)] = event.Object
	}
}
