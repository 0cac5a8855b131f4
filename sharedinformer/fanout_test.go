package sharedinformer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHandler_LateJoinerGetsTheStoreAsAdds(t *testing.T) {
	bothQueues(t, Options[*config]{}, func(s *story) {
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		s.Start()
		r := newRecorder()
		reg := s.Add(r, HandlerOptions{})
		s.server.Put("a", "2")
		s.Settle()
		require.True(s, reg.HasSynced())
		log := r.take()
		require.ElementsMatch(s, []string{"add a@1 initial", "add b@2 initial"}, log[:2])
		require.Equal(s, []string{"update a@1→3"}, log[2:])
		require.Equal(s, s.server.versions(), r.believes())
	})
}

func TestHandler_LateJoinerOnAnEmptyStoreIsSyncedAtOnce(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		s.Start()
		require.True(s, s.Add(newRecorder(), HandlerOptions{}).HasSynced())
	})
}

func TestHandler_SlowOneHoldsUpNobody(t *testing.T) {
	bothQueues(t, Options[*config]{}, func(s *story) {
		release := make(chan struct{})
		slow, quick := newRecorder(), newRecorder()
		slow.during = func(string) { <-release }
		slowReg := s.Add(slow, HandlerOptions{})
		s.Add(quick, HandlerOptions{})
		s.server.Put("a", "1")
		s.Start()
		for v := range 100 {
			s.server.Put("a", fmt.Sprint(v))
		}
		s.Settle()
		require.Len(s, quick.take(), 101)
		require.Len(s, slow.take(), 1)
		require.False(s, slowReg.HasSynced(), "it is still at its first object")
		require.Equal(s, 101, slowReg.Stats().Depth)
		s.ExpectStore()
		close(release)
		s.Settle()
		require.Len(s, slow.take(), 100, "every change, none folded")
		require.True(s, slowReg.HasSynced())
		require.Zero(s, slowReg.Stats().Depth)
	})
}

func TestHandler_NilIsRefused(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		_, err := s.informer.AddHandler(nil, HandlerOptions{})
		require.ErrorContains(s, err, "nil")
	})
}

func TestHandlers_EveryRegistrationIsOneMoment(t *testing.T) {
	// Handlers join and leave from many goroutines while objects change; with the race detector on, this is the proof that
	// one mutex spans commit and fan-out.
	for _, kind := range []QueueKind{InOrder, PerKey} {
		t.Run(nameOf(kind), func(t *testing.T) {
			server := newServer()
			opts := Options[*config]{Queue: kind}
			opts.Reflector.DisableStreamingList = true
			i := New[*config](server, opts)
			ctx, cancel := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := i.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			var stayed []*recorder
			var mu sync.Mutex
			var joiners sync.WaitGroup
			for j := range 4 {
				joiners.Go(func() {
					for n := range 25 {
						r := newRecorder()
						reg, err := i.AddHandler(r, HandlerOptions{Fold: (n+j)%2 == 0})
						if err != nil {
							t.Error(err)
							return
						}
						if n%5 == 0 {
							mu.Lock()
							stayed = append(stayed, r)
							mu.Unlock()
							continue
						}
						if err := i.RemoveHandler(reg); err != nil {
							t.Error(err)
						}
						<-reg.Done()
						if len(r.lies) > 0 {
							t.Errorf("illegal: %v", r.lies)
						}
					}
				})
			}
			for v := range 500 {
				name := fmt.Sprint("o", v%7)
				if v%11 == 0 {
					server.Delete(name)
				} else {
					server.Put(name, fmt.Sprint(v))
				}
				if v%50 == 0 {
					server.BreakWatch()
				}
			}
			joiners.Wait()
			last := newRecorder()
			marker := make(chan struct{}, 2)
			last.during = func(what string) {
				if strings.Contains(what, " last") {
					marker <- struct{}{}
				}
			}
			if _, err := i.AddHandler(last, HandlerOptions{}); err != nil {
				t.Error(err)
			}
			for range 2 { // the first may come from a list, and per key the deletions of a list are told last
				server.Put("last", "")
				<-marker
			}
			regs := i.Stats().Handlers
			require.Len(t, regs, len(stayed)+1)
			i.fanout.storeAndListeners.Lock()
			listeners := slices.Clone(i.fanout.listeners)
			i.fanout.storeAndListeners.Unlock()
			for _, l := range listeners {
				if err := i.DrainHandler(l.reg); err != nil {
					t.Error(err)
				}
			}
			for _, l := range listeners {
				<-l.reg.Done()
			}
			cancel()
			wg.Wait()
			for _, r := range append(stayed, last) {
				require.Empty(t, r.lies)
				require.Equal(t, server.versions(), r.believes())
			}
		})
	}
}

func TestHandlerName_IsTheCallersAndUnique(t *testing.T) {
	i := New[*config](newServer(), Options[*config]{})
	var names []string
	var regs []*Registration
	for _, name := range []string{"", "", "h", "h", "handler#2", "h"} {
		r, err := i.AddHandler(newRecorder(), HandlerOptions{Name: name})
		require.NoError(t, err)
		regs, names = append(regs, r), append(names, r.Name())
	}
	require.Equal(t, []string{"handler", "handler#2", "h", "h#2", "handler#2#2", "h#3"}, names)
	require.NoError(t, i.RemoveHandler(regs[3]))
	r, err := i.AddHandler(newRecorder(), HandlerOptions{Name: "h"})
	require.NoError(t, err)
	require.Equal(t, "h#2", r.Name(), "a name that is free is given again")
}

func BenchmarkAddHandler_ThousandsOfOneName(b *testing.B) {
	for b.Loop() {
		i := New[*config](newServer(), Options[*config]{})
		for range 2000 {
			_, err := i.AddHandler(HandlerFuncs[*config]{}, HandlerOptions{Name: "web"})
			require.NoError(b, err)
		}
	}
}
