package sharedinformer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/shrink"
)

func TestHandler_FoldingOneWaitsForOneChangePerObject(t *testing.T) {
	bothQueues(t, Options[*config]{}, func(s *story) {
		release := make(chan struct{})
		r := newRecorder()
		r.during = func(string) { <-release }
		reg := s.Add(r, HandlerOptions{Fold: true})
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		s.server.Put("c", "1")
		s.Start()
		for v := range 100 {
			s.server.Put("a", fmt.Sprint(v))
			s.server.Put("b", fmt.Sprint(v))
		}
		s.server.Put("d", "1")
		s.server.Delete("d")
		s.server.Delete("c")
		s.Settle()
		require.Equal(s, 3, reg.Stats().Depth, "the add it is at, and a change of a and b; c and d came and went")
		require.NotZero(s, reg.Stats().Folds)
		require.False(s, reg.HasSynced())
		close(release)
		s.Settle()
		require.True(s, reg.HasSynced(), "an add that was folded away settles the sync count")
		require.Equal(s, []string{"add a@1 initial", "add b@203 initial", "update a@1→202"}, r.take())
		require.Empty(s, r.lies)
		require.Equal(s, s.server.versions(), r.believes())
	})
}

func TestHandler_FoldingOneSeesARecreationAsDeleteAndAdd(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		gate := make(chan struct{})
		r := newRecorder()
		r.during = func(what string) {
			if strings.HasPrefix(what, "add gate") {
				<-gate
			}
		}
		s.server.Put("a", "1")
		s.Add(r, HandlerOptions{Fold: true})
		s.Start()
		s.server.Put("gate", "")
		s.Settle()
		r.take()
		s.server.Delete("a")
		s.server.Put("a", "2")
		s.server.Put("a", "3")
		s.Settle()
		close(gate)
		s.Expect(r, "delete a@1 unseen", "add a@5")
	})
}

func TestHandler_PastItsBoundItIsRemoved(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		for n := range 50 {
			s.server.Put(fmt.Sprint("old", n), "")
		}
		release := make(chan struct{})
		slow, quick := newRecorder(), newRecorder()
		slow.during = func(string) { <-release }
		slowReg := s.Add(slow, HandlerOptions{Name: "slow", MaxBacklog: 10})
		quickReg := s.Add(quick, HandlerOptions{MaxBacklog: 10})
		s.Start()
		require.Len(s, s.informer.Stats().Handlers, 2, "an initial list does not count")
		for n := range 10 {
			s.server.Put(fmt.Sprint("new", n), "")
			s.Settle()
		}
		require.NoError(s, slowReg.Err())
		s.server.Put("straw", "")
		s.Settle()
		require.ErrorIs(s, slowReg.Err(), ErrBacklog)
		require.ErrorContains(s, slowReg.Err(), "slow")
		require.False(s, isClosed(slowReg.Done()), "a call is under way")
		require.Len(s, s.informer.Stats().Handlers, 1)
		close(release)
		<-slowReg.Done()
		require.Len(s, slow.take(), 1)
		require.Zero(s, slowReg.Stats().Depth)
		require.ErrorContains(s, slowReg.WaitForSync(context.Background()), "backlog")
		require.NoError(s, quickReg.Err())
		s.Settle()
		require.Len(s, quick.take(), 61)
	})
}

func TestHandler_InitialAddsAreNotCountedWhileTheyAreDelivered(t *testing.T) {
	l := newListener(HandlerFuncs[*config]{}, HandlerOptions{MaxBacklog: 1})
	initial := make([]notification[*config], 200_000)
	for n := range initial {
		initial[n] = notification[*config]{kind: added, initial: true, obj: &config{}}
	}
	l.backlog.add(initial, all)
	l.backlog.add([]notification[*config]{{kind: added, obj: &config{}}}, all) // the one that may wait
	var served sync.WaitGroup
	served.Go(func() { l.run(context.Background()) })
	kept := true
	for l.reg.Stats().Depth > 1 && kept {
		kept = l.backlog.add(nil, all)
	}
	l.backlog.drain()
	served.Wait()
	require.True(t, kept, "never more than one waited besides the initial list")
}

func TestHandler_AnIdleOneKeepsNoMemoryOfABurst(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		for n := range 5 * shrink.Kept {
			s.server.Put(fmt.Sprint(n), "")
		}
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		require.Len(s, r.take(), 5*shrink.Kept)
		b := s.informer.fanout.listeners[0].backlog
		require.LessOrEqual(s, max(cap(b.waiting), cap(b.taken), b.mostWaiting), shrink.Kept)
	})
}

// Room is made for a whole list, of which the handler wants one object only.
func TestHandler_AnIdleOneKeepsNoMemoryOfAListThatItDidNotWant(t *testing.T) {
	b := newBacklog[*config](HandlerOptions{})
	notes := make([]notification[*config], 5*shrink.Kept)
	notes[0].cause = changed
	for i := range notes[1:] {
		notes[i+1].cause = repeated
	}
	b.add(notes, func(c cause) bool { return c == changed })
	taken := b.take()
	require.Len(t, taken, 1)
	b.told(&taken[0])
	b.releaseMemoryLocked()
	require.LessOrEqual(t, max(cap(b.waiting), cap(b.taken)), shrink.Kept)
}
