package sharedinformer

import (
	"slices"
	"sync/atomic"
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

func TestResync_DecidedOnBeforeAHandlerJoinedIsNotItsOwn(t *testing.T) {
	var queued atomic.Pointer[func()] // called once when the next thing is queued
	opts := Options[*config]{ResyncPeriod: 10 * time.Second}
	opts.Metrics.Queued = func(n int) {
		if n != 1 {
			return
		}
		if call := queued.Swap(nil); call != nil {
			(*call)()
		}
	}
	bothQueues(t, opts, func(s *story) {
		s.server.Put("a", "1")
		due, late := newRecorder(), newRecorder()
		s.Add(due, HandlerOptions{})
		s.Start()
		s.Expect(due, "add a@1 initial")
		join := func() { s.Add(late, HandlerOptions{ResyncPeriod: NoResync}) }
		queued.Store(&join) // after the check, and before the store has the resync
		s.Pass(10*time.Second + time.Millisecond)
		s.Expect(due, "update a@1→1")
		s.Expect(late, "add a@1 initial")
	})
}

// An empty list queues nothing with the per-key queue. It begins the first period all the same.
func TestResync_ComesAfterAFirstListThatIsEmpty(t *testing.T) {
	bothQueues(t, Options[*config]{ResyncPeriod: 10 * time.Second}, func(s *story) {
		shared := newRecorder()
		s.Add(shared, HandlerOptions{})
		s.Start()
		s.Pass(time.Second)
		s.server.Put("a", "1")
		s.Pass(time.Minute + 4*time.Second)
		resyncs := slices.Repeat([]string{"update a@1→1"}, 6)
		s.Expect(shared, append([]string{"add a@1"}, resyncs...)...)
	})
}

// The table in doc.go, row by row.
func TestResync_IsGivenAsTheTableSays(t *testing.T) {
	given := []string{"update a@1→1"}
	rows := []struct {
		name                string
		at                  time.Duration
		relist              bool
		often, usual, never []string
	}{
		{"relist before the first check", 3 * time.Second, true, given, given, given},
		{"check at 10s", 10 * time.Second, false, given, nil, nil},
		{"relist soon after it", 13 * time.Second, true, given, nil, nil},
		{"check at 20s", 20 * time.Second, false, given, nil, nil},
		{"check at 30s", 30 * time.Second, false, given, given, nil},
		{"relist soon after it", 33 * time.Second, true, given, given, nil},
	}
	for _, row := range rows {
		bothQueues(t, Options[*config]{ResyncPeriod: 30 * time.Second}, func(s *story) {
			s.server.Put("a", "1")
			often, usual, never := newRecorder(), newRecorder(), newRecorder()
			s.Add(often, HandlerOptions{ResyncPeriod: 10 * time.Second})
			s.Add(usual, HandlerOptions{})
			s.Add(never, HandlerOptions{ResyncPeriod: NoResync})
			s.Start()
			s.Pass(row.at - time.Millisecond)
			for _, r := range []*recorder{often, usual, never} {
				r.take()
			}
			if row.relist {
				s.server.Compact()
			}
			s.Pass(2 * time.Second)
			for r, want := range map[*recorder][]string{often: row.often, usual: row.usual, never: row.never} {
				require.Equal(s, want, r.take(), row.name)
			}
		})
	}
}

func TestResync_WithoutAPeriodOfTheInformerARelistIsGivenToAll(t *testing.T) {
	bothQueues(t, Options[*config]{}, func(s *story) {
		s.server.Put("a", "1")
		usual, never := newRecorder(), newRecorder()
		s.Add(usual, HandlerOptions{ResyncPeriod: time.Second})
		s.Add(never, HandlerOptions{ResyncPeriod: NoResync})
		s.Start()
		for _, r := range []*recorder{usual, never} {
			s.Expect(r, "add a@1 initial")
		}
		s.Pass(time.Hour)
		s.server.Compact()
		s.Pass(2 * time.Second)
		for _, r := range []*recorder{usual, never} {
			s.Expect(r, "update a@1→1")
		}
	})
}

// A server that was set back to a backup gives out its numbers a second time: the same version of the same object is another
// state then. So the in-order queue tells all handlers of the whole list. With the per-key queue only handlers that are due
// hear of it, as in client-go.
func TestResync_AVersionThatWasGivenTwiceGoesToAllAfterARestoredBackup(t *testing.T) {
	bothQueues(t, Options[*config]{ResyncPeriod: time.Hour}, func(s *story) {
		s.server.Put("a", "kept")
		s.server.Put("z", "kept")
		backup := s.server.revision
		s.server.Put("a", "lost")
		s.server.Put("b", "lost")
		r, due := newRecorder(), newRecorder()
		s.Add(r, HandlerOptions{ResyncPeriod: NoResync}) // which is not told of versions that it has, once somebody has looked
		s.Add(due, HandlerOptions{})
		s.Start()
		s.Pass(90 * time.Minute)
		r.take()
		due.take()
		s.server.Unobserved(func() {
			s.server.Restore(backup)
			s.server.Put("a", "made anew")
			s.Pass(10 * time.Second) // it lists, as its version is gone
		})
		s.Pass(10 * time.Second)
		all := []string{"delete b@4 unseen", "update a@3→3", "update z@2→2"}
		require.Subset(s, due.take(), all)
		require.Equal(s, "made anew", due.view[named("a")].Data["value"])
		if s.informer.opts.Queue == PerKey {
			require.Equal(s, all[:1], r.take())
			require.Equal(s, "lost", r.view[named("a")].Data["value"])
			return
		}
		require.ElementsMatch(s, all, r.take())
		require.Equal(s, "made anew", r.view[named("a")].Data["value"])
		s.server.Compact() // the next list is not older than the store: what it shows is known
		s.Pass(10 * time.Second)
		require.Empty(s, r.take())
	})
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
