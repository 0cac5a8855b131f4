package sharedinformer

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"glasswatch/reflector"
)

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

func TestHandler_DrainedBeforeTheEndOfTheInitialListHasNotSynced(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		gate, release := make(chan struct{}), make(chan struct{}) // made in here, as virtual time asks
		s.informer = New(s.server, Options[*config]{SyncGate: gate, Reflector: reflector.Options{DisableStreamingList: true}})
		r := newRecorder()
		r.during = func(string) { <-release }
		reg := s.Add(r, HandlerOptions{})
		s.server.Put("a", "1")
		s.Start()
		require.NoError(s, s.informer.DrainHandler(reg))
		s.server.Put("b", "1") // of the initial list, since the gate is shut
		s.Settle()
		close(gate)
		s.Settle()
		close(release)
		<-reg.Done()
		s.Expect(r, "add a@1 initial")
		require.False(s, reg.HasSynced(), "it was not given b")
	})
}
