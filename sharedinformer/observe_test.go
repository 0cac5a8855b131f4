package sharedinformer

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/listwatch"
	"glasswatch/observe"
	"glasswatch/reflector"
)

// onlooker writes down what it is told as an observer.
type onlooker struct {
	mu  sync.Mutex
	log []string
	// during, if not nil, runs inside each call.
	during func(seen []observation)
}

func (l *onlooker) observe(seen []observation) {
	l.mu.Lock()
	for _, o := range seen {
		line := fmt.Sprintf("%s %s", o.Step, o.Kind)
		if o.Handler != "" {
			line = o.Handler + " " + line
		}
		if o.Key.Name != "" {
			line += " " + o.Key.Name
		}
		if o.Obj != nil {
			line += "@" + o.Obj.GetResourceVersion()
		}
		if o.Old != nil {
			line += " was " + o.Old.GetResourceVersion()
		}
		if o.IsInInitialList {
			line += " initial"
		}
		if o.FinalStateUnknown {
			line += " unseen"
		}
		l.log = append(l.log, line)
	}
	l.mu.Unlock()
	if l.during != nil {
		l.during(seen)
	}
}

func (l *onlooker) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.log
	l.log = nil
	return log
}

func TestObserve_EachBoundaryIsReportedInOrder(t *testing.T) {
	var looker onlooker
	inVirtualTime(t, Options[*config]{Observe: looker.observe}, func(s *story) {
		s.Add(newRecorder(), HandlerOptions{Name: "h"})
		s.server.Put("a", "1")
		s.Start()
		require.Equal(s, []string{
			"popped ReplacedAll a@1 initial", "stored stored a@1 initial", "h called OnAdd a@1 initial", "h returned OnAdd a@1 initial",
		}, looker.take())
		s.server.Put("a", "2")
		s.Settle()
		require.Equal(s, []string{
			"popped Updated a@2", "stored replaced a@2 was 1", "h called OnUpdate a@2 was 1", "h returned OnUpdate a@2 was 1",
		}, looker.take())
		s.server.Delete("a")
		s.Settle()
		require.Equal(s, []string{
			"popped Deleted a@3", "stored removed a@3", "h called OnDelete a@3", "h returned OnDelete a@3",
		}, looker.take())
		s.server.Put("b", "1")
		s.Settle()
		looker.take()
		s.server.Unobserved(func() { s.server.Delete("b") })
		s.Pass(time.Second)
		require.Equal(s, []string{
			"popped ReplacedAll", "stored removed b@4", "h called OnDelete b@4 unseen", "h returned OnDelete b@4 unseen",
		}, looker.take())
	})
}

func TestObserve_AnObserverThatBlocksStopsTheStoreAndNothingIsLost(t *testing.T) {
	var gate chan struct{} // of the virtual time
	looker := &onlooker{during: func(seen []observation) {
		if seen[0].Step == observe.Popped {
			<-gate
		}
	}}
	inVirtualTime(t, Options[*config]{Observe: looker.observe}, func(s *story) {
		gate = make(chan struct{})
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.server.Put("a", "1")
		s.Start()
		s.server.Put("a", "2")
		synctest.Wait()
		require.Zero(s, s.informer.Store().Len())
		close(gate)
		s.Expect(r, "add a@1 initial", "update a@1→2")
	})
}

func TestBeforeStore_SeesEachObjectBeforeTheStoreHasIt(t *testing.T) {
	var seen []string
	var i *Informer[*config]
	bothQueues(t, Options[*config]{BeforeStore: func(k listwatch.Key, obj listwatch.Object) {
		before := "none"
		if old, ok := i.Store().GetByKey(k); ok {
			before = old.ResourceVersion
		}
		after := "none"
		if obj != nil {
			after = obj.GetResourceVersion()
		}
		seen = append(seen, k.Name+" "+before+"→"+after)
	}}, func(s *story) {
		i, seen = s.informer, nil
		s.server.Put("a", "1")
		s.Start()
		s.server.Put("a", "2")
		s.Settle()
		s.server.Delete("a")
		s.Settle()
		require.Equal(s, []string{"a none→1", "a 1→2", "a 2→none"}, seen)
		s.server.Put("b", "1")
		s.Settle()
		s.server.Unobserved(func() { s.server.Delete("b") })
		s.Pass(time.Second)
		require.Equal(s, []string{"b none→4", "b 4→none"}, seen[3:])
	})
}

func TestSyncGate_InformerAndHandlersSyncOnceItIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := &story{T: t, server: newServer()}
		s.informer = New(s.server, Options[*config]{SyncGate: gate, Reflector: reflector.Options{DisableStreamingList: true}})
		defer s.Stop()
		r := newRecorder()
		reg := s.Add(r, HandlerOptions{})
		s.server.Put("a", "1")
		s.Start()
		s.server.Put("b", "1")
		s.Expect(r, "add a@1 initial", "add b@2 initial")
		require.False(s, s.informer.HasSynced())
		require.False(s, reg.HasSynced())
		close(gate)
		s.Settle()
		require.True(s, s.informer.HasSynced())
		require.True(s, reg.HasSynced())
		s.server.Put("c", "1")
		s.Expect(r, "add c@3")
	})
}

func TestVersionsByBookmark_EventsDoNotMoveTheStoresVersion(t *testing.T) {
	inVirtualTime(t, Options[*config]{VersionsByBookmark: true}, func(s *story) {
		s.server.Put("a", "1")
		s.Start()
		s.server.Put("a", "2")
		s.Settle()
		s.ExpectStore()
		require.Equal(s, "1", s.informer.Store().ResourceVersion())
	})
}

func TestInformer_AHandlerThatWaitsForTheSyncDoesNotHoldUpTheEnd(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		s.informer = New(s.server, Options[*config]{SyncGate: make(chan struct{})})
		var err error
		s.Add(HandlerFuncs[*config]{AddFunc: func(*config, bool) { err = s.informer.WaitForSync(context.Background()) }}, HandlerOptions{})
		s.server.Put("a", "1")
		s.Start()
		s.Stop()
		require.ErrorIs(s, err, ErrStopped)
	})
}
