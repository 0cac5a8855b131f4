package sharedinformer

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/indexer"
	"glasswatch/reflector"
)

func TestHandler_DoneClosesAfterItsLastCall(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		gate := make(chan struct{})
		r := newRecorder()
		r.during = func(string) { <-gate }
		reg := s.Add(r, HandlerOptions{Name: "slow"})
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		s.Start()
		require.NoError(s, s.informer.RemoveHandler(reg))
		s.Settle()
		require.False(s, isClosed(reg.Done()))
		close(gate)
		<-reg.Done()
		require.Equal(s, []string{"add a@1 initial"}, r.take(), "what waited is dropped")
	})
}

func TestHandler_DrainedOneIsDoneOnceItsBacklogIsDelivered(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		r := newRecorder()
		r.during = func(string) { <-time.After(time.Second) }
		reg := s.Add(r, HandlerOptions{})
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		s.Start()
		require.NoError(s, s.informer.DrainHandler(reg))
		<-reg.Done()
		require.Equal(s, []string{"add a@1 initial", "add b@2 initial"}, r.take())
	})
}

func TestHandler_ThatEndsItsGoroutineIsRemoved(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		reg := s.Add(HandlerFuncs[*config]{AddFunc: func(*config, bool) { runtime.Goexit() }}, HandlerOptions{Name: "test"})
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		s.Start()
		require.True(s, isClosed(reg.Done()))
		require.ErrorIs(s, reg.Err(), ErrHandlerExited)
		require.ErrorIs(s, reg.WaitForSync(context.Background()), ErrHandlerExited)
		require.Empty(s, s.informer.Stats().Handlers)
		require.Equal(s, "test", s.Add(newRecorder(), HandlerOptions{Name: "test"}).Name(), "its name is free")
	})
}

func TestInformer_HookThatEndsTheConsumersGoroutineTakesSourceAndHandlersWithIt(t *testing.T) {
	var state reflector.State
	inVirtualTime(t, Options[*config]{
		Observe:   func([]observation) { runtime.Goexit() },
		Reflector: reflector.Options{OnTransition: func(_, to reflector.State) { state = to }},
	}, func(s *story) {
		reg := s.Add(newRecorder(), HandlerOptions{})
		s.server.Put("a", "1")
		s.Start()
		require.True(s, isClosed(s.informer.Done()))
		require.True(s, isClosed(reg.Done()))
		require.Equal(s, reflector.Stopped, state)
	})
}

func TestInformer_HandlersEndAfterTheConsumer(t *testing.T) {
	inVirtualTime(t, Options[*config]{Metrics: Metrics{StoreResourceVersion: func(version string) {
		if version == "1" {
			<-time.After(time.Second) // the consumer is in the middle of something
		}
	}}}, func(s *story) {
		reg := s.Add(newRecorder(), HandlerOptions{})
		s.Start()
		s.server.Put("gate", "1")
		synctest.Wait()
		s.cancel()
		synctest.Wait()
		require.False(s, isClosed(s.informer.storeFinal))
		require.False(s, isClosed(reg.Done()), "whoever may still be told of something is served")
		late, err := s.informer.AddHandler(newRecorder(), HandlerOptions{})
		require.NoError(s, err)
		s.Stop()
		require.True(s, isClosed(s.informer.storeFinal))
		for _, r := range []*Registration{reg, late} {
			require.True(s, isClosed(r.Done()))
			require.ErrorIs(s, r.Err(), ErrStopped)
		}
	})
}

func TestHandler_WithABoundCountsEveryChangeUntilItIsPastIt(t *testing.T) {
	for _, opts := range []HandlerOptions{{}, {MaxBacklog: 5000}} {
		bothQueues(t, Options[*config]{}, func(s *story) {
			counted := 0
			s.Add(HandlerFuncs[*config]{
				AddFunc:    func(*config, bool) { counted++ },
				UpdateFunc: func(_, _ *config) { counted++ },
				DeleteFunc: func(Deletion[*config]) { counted++ },
			}, opts)
			s.Start()
			for n := range 1000 {
				s.server.Put("a", fmt.Sprint(n))
				if n%10 == 9 {
					s.server.Delete("a")
				}
			}
			s.Settle()
			require.Equal(s, 1100, counted)
		})
	}
}

func TestInformer_AddIndexersDoesNotHoldUpReaders(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		s.server.Put("a", "1")
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		s.Expect(r, "add a@1 initial")
		gate, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- s.informer.AddIndexers(indexer.Indexers[*config]{"slow": func(obj *config, dst []string) ([]string, error) {
				if obj.Name == "a" {
					<-gate
				}
				return append(dst, obj.Data["value"]), nil
			}})
		}()
		s.Settle()
		require.Len(s, s.informer.Store().List(), 1)
		close(gate)
		require.NoError(s, <-ended)
		s.server.Put("b", "1")
		s.Expect(r, "add b@2")
		found, err := s.informer.Store().ByIndex("slow", "1")
		require.NoError(s, err)
		require.Len(s, found, 2)
	})
}

func TestInformer_MetricsAreFed(t *testing.T) {
	var queued []int
	var versions []string
	processed := 0
	opts := Options[*config]{Metrics: Metrics{
		Queued:               func(n int) { queued = append(queued, n) },
		Processed:            func(time.Duration) { processed++ },
		StoreResourceVersion: func(rv string) { versions = append(versions, rv) },
	}}
	inVirtualTime(t, opts, func(s *story) {
		s.server.Put("a", "1")
		s.Start()
		s.server.Put("b", "1")
		s.Settle()
		require.Equal(s, []int{1, 0, 1, 0}, queued)
		require.Equal(s, []string{"1", "2"}, versions)
		require.Equal(s, 2, processed)
		stats := s.informer.Stats()
		require.EqualValues(s, 1, stats.Reflector.PagedLists)
		require.EqualValues(s, 1, stats.Reflector.Watches)
		require.Equal(s, "2", stats.LastSyncResourceVersion)
	})
}

func TestHandler_LaggardIsLoggedWithNoLockHeld(t *testing.T) {
	bothQueues(t, Options[*config]{}, func(s *story) {
		var notes notebook
		unlocked := false
		notes.during = func() {
			for n := 0; n < 1_000_000 && !unlocked; n++ { // others may hold it for a moment
				if unlocked = s.informer.fanout.storeAndListeners.TryLock(); unlocked {
					s.informer.fanout.storeAndListeners.Unlock()
				}
				runtime.Gosched()
			}
		}
		gate := make(chan struct{})
		defer close(gate)
		s.Add(HandlerFuncs[*config]{AddFunc: func(*config, bool) { <-gate }}, HandlerOptions{Name: "slow", MaxBacklog: 1})
		ctx, cancel := context.WithCancel(notes.context(context.Background()))
		s.cancel, s.ended = cancel, make(chan struct{})
		go func() { defer close(s.ended); _ = s.informer.Run(ctx) }()
		synctest.Wait()
		for n := range 3 {
			s.server.Put(fmt.Sprint(n), "1")
			synctest.Wait()
		}
		require.Contains(s, notes.take(), "handler slow: backlog over its bound of 1")
		require.True(s, unlocked)
	})
}
