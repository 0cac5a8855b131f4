package sharedinformer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
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

func TestHandler_RemovedOneHearsNoMore(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		release := make(chan struct{})
		r, other := newRecorder(), newRecorder()
		r.during = func(string) { <-release }
		reg := s.Add(r, HandlerOptions{})
		s.Add(other, HandlerOptions{})
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		s.Start()
		require.NoError(s, s.informer.RemoveHandler(reg))
		s.server.Put("c", "1")
		synctest.Wait()
		require.False(s, isClosed(reg.Done()))
		close(release)
		<-reg.Done()
		require.NoError(s, reg.Err(), "it was removed on demand")
		require.NoError(s, s.informer.RemoveHandler(reg), "once more is no error")
		s.Expect(r, "add a@1 initial")
		s.Expect(other, "add a@1 initial", "add b@2 initial", "add c@3")
		require.ErrorContains(s, reg.WaitForSync(context.Background()), "removed")
		require.ErrorIs(s, s.informer.RemoveHandler(nil), ErrUnknownHandler)
		foreign, err := New[*config](s.server, Options[*config]{}).AddHandler(r, HandlerOptions{})
		require.NoError(s, err)
		require.ErrorIs(s, s.informer.RemoveHandler(foreign), ErrUnknownHandler)
	})
}

func TestHandler_DrainedOneHearsWhatWaits(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		release := make(chan struct{})
		r := newRecorder()
		r.during = func(string) { <-release }
		reg := s.Add(r, HandlerOptions{})
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		s.Start()
		require.NoError(s, s.informer.DrainHandler(reg))
		s.server.Put("c", "1")
		s.Settle()
		require.Equal(s, 2, s.informer.Stats().Handlers[0].Depth, "it can still be watched")
		close(release)
		<-reg.Done()
		s.Expect(r, "add a@1 initial", "add b@2 initial")
		require.True(s, reg.HasSynced())
		require.Empty(s, s.informer.Stats().Handlers)

		release = make(chan struct{})
		defer close(release)
		stuck := s.Add(r, HandlerOptions{})
		s.Settle()
		require.NoError(s, s.informer.DrainHandler(stuck))
		require.NoError(s, s.informer.RemoveHandler(stuck), "a drain can be cut short")
	})
}

func TestHandler_RemovedBeforeTheStartIsGoneAtOnce(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		r := newRecorder()
		first, second := s.Add(r, HandlerOptions{}), s.Add(r, HandlerOptions{})
		require.NoError(s, s.informer.RemoveHandler(first))
		require.NoError(s, s.informer.DrainHandler(second))
		<-first.Done()
		<-second.Done()
		s.server.Put("a", "1")
		s.Start()
		require.Empty(s, r.take())
	})
}

func TestHandler_MayAddAndRemoveHandlers(t *testing.T) {
	bothQueues(t, Options[*config]{}, func(s *story) {
		outer, inner := newRecorder(), newRecorder()
		var self, other *Registration
		outer.during = func(what string) {
			switch {
			case strings.HasPrefix(what, "add a"):
				other = s.Add(inner, HandlerOptions{})
			case strings.HasPrefix(what, "update a"):
				s.informer.Stats()
				require.NoError(s, s.informer.RemoveHandler(other))
				require.NoError(s, s.informer.RemoveHandler(self))
			}
		}
		self = s.Add(outer, HandlerOptions{})
		s.server.Put("a", "1")
		s.Start()
		s.Expect(inner, "add a@1 initial")
		s.server.Put("a", "2")
		s.server.Put("a", "3")
		s.Settle()
		<-self.Done()
		<-other.Done()
		require.Equal(s, []string{"add a@1 initial", "update a@1→2"}, outer.take())
		require.Empty(s, inner.lies)
	})
}

func TestHandler_NilIsRefused(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		_, err := s.informer.AddHandler(nil, HandlerOptions{})
		require.ErrorContains(s, err, "nil")
	})
}

func TestHandler_PanicCostsOneCallIfTheProcessSurvivesIt(t *testing.T) {
	really, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = really, handlers }()
	utilruntime.ReallyCrash = false
	var logged []any
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, p any) { logged = append(logged, p) }}
	bothQueues(t, Options[*config]{}, func(s *story) {
		logged = nil
		r := newRecorder()
		r.during = func(what string) {
			if strings.HasPrefix(what, "add b") {
				panic(what)
			}
		}
		reg := s.Add(r, HandlerOptions{})
		for _, name := range []string{"a", "b", "c"} {
			s.server.Put(name, "1")
		}
		s.Start()
		require.Len(s, logged, 1)
		require.Equal(s, []string{"add a@1 initial", "add b@2 initial"}, r.take())
		s.Pass(crashPause)
		s.Expect(r, "add c@3 initial")
		require.True(s, reg.HasSynced(), "a panic on an initial add does not block the sync")
		require.Zero(s, reg.Stats().Depth)

		s.server.Delete("b")
		s.server.Put("b", "1")
		s.server.Put("c", "2")
		s.Settle()
		require.NoError(s, s.informer.RemoveHandler(reg))
		<-reg.Done() // at once, not after the pause
		require.NotContains(s, r.take(), "update c@3→6")
	})
}

func TestHandler_PanicEndsTheProcessByDefault(t *testing.T) {
	handlers := utilruntime.PanicHandlers
	defer func() { utilruntime.PanicHandlers = handlers }()
	utilruntime.PanicHandlers = nil
	require.True(t, utilruntime.ReallyCrash)
	l := newListener(newRegistration("r", nil, noError), Handler[*config](HandlerFuncs[*config]{AddFunc: func(*config, bool) { panic("boom") }}), HandlerOptions{})
	l.append([]notification[*config]{{kind: added, obj: &config{}}})
	require.PanicsWithValue(t, "boom", func() { l.run(context.Background()) })
}

func TestHandlers_EveryRegistrationIsOneMoment(t *testing.T) {
	// Handlers join and leave from many goroutines while objects change; with the race detector on, this is the proof that
	// one mutex spans commit and fan-out.
	for _, kind := range []QueueKind{InOrder, PerKey} {
		t.Run(kind.String(), func(t *testing.T) {
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
			marker := make(chan struct{})
			last.during = func(what string) {
				if strings.HasPrefix(what, "add last") {
					close(marker)
				}
			}
			if _, err := i.AddHandler(last, HandlerOptions{}); err != nil {
				t.Error(err)
			}
			server.Put("last", "")
			<-marker
			regs := i.Stats().Handlers
			require.Len(t, regs, len(stayed)+1)
			i.mu.Lock()
			listeners := slices.Clone(i.listeners)
			i.mu.Unlock()
			for _, l := range listeners {
				if err := i.DrainHandler(l.Registration); err != nil {
					t.Error(err)
				}
			}
			for _, l := range listeners {
				<-l.Done()
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

func TestFilteringHandler_ShowsAFilteredWorld(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		r := newRecorder()
		s.Add(FilteringHandler[*config]{FilterFunc: func(obj *config) bool { return obj.Data["value"] == "in" }, Handler: r}, HandlerOptions{})
		s.server.Put("a", "in")
		s.server.Put("b", "out")
		s.Start()
		s.Expect(r, "add a@1 initial")
		s.server.Put("a", "in")
		s.server.Put("b", "out")
		s.server.Put("b", "in")
		s.server.Put("a", "out")
		s.Expect(r, "update a@1→3", "add b@5", "delete a@3")
		s.server.Delete("a")
		s.server.Delete("b")
		s.Expect(r, "delete b@8")
		FilteringHandler[*config]{FilterFunc: func(*config) bool { panic("no object to judge") }, Handler: HandlerFuncs[*config]{}}.
			OnDelete(Deletion[*config]{Key: named("x")})
	})
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

func TestHandler_InitialAddsAreNotCountedWhileTheyAreDelivered(t *testing.T) {
	l := newListener(newRegistration("r", nil, noError), Handler[*config](HandlerFuncs[*config]{}), HandlerOptions{MaxBacklog: 1})
	initial := make([]notification[*config], 200_000)
	for n := range initial {
		initial[n] = notification[*config]{kind: added, initial: true, obj: &config{}}
	}
	l.append(initial)
	l.append([]notification[*config]{{kind: added, obj: &config{}}}) // the one that may wait
	var served sync.WaitGroup
	served.Go(func() { l.run(context.Background()) })
	kept := true
	for l.Stats().Depth > 1 && kept {
		kept = l.append(nil)
	}
	l.close()
	served.Wait()
	require.True(t, kept, "never more than one waited besides the initial list")
}
