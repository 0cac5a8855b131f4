package sharedinformer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// plainly runs a simple informer with each kind of queue until tell returns.
func plainly(t *testing.T, opts Options[*config], h Handler[*config], tell func(t *testing.T, server *server, i *SimpleInformer[*config])) {
	t.Helper()
	for _, kind := range []QueueKind{InOrder, PerKey} {
		opts.Queue = kind
		t.Run(nameOf(kind), func(t *testing.T) { plainlyWith(t, opts, h, tell) })
	}
}

func plainlyWith(t *testing.T, opts Options[*config], h Handler[*config], tell func(t *testing.T, server *server, i *SimpleInformer[*config])) {
	synctest.Test(t, func(t *testing.T) {
		opts.Reflector = reflector.Options{DisableStreamingList: true, Backoff: reflector.Backoff{Base: 100 * time.Millisecond, Max: time.Second}}
		opts.WatchErrorHandler = func(context.Context, error) {}
		server := newServer()
		i := NewSimple(listwatch.ListerWatcher[*config](server), h, opts)
		ctx, cancel := context.WithCancel(context.Background())
		defer func() { cancel(); <-i.Done() }()
		server.Put("a", "1")
		server.Put("b", "1")
		go func() { _ = i.Run(ctx) }()
		synctest.Wait()
		tell(t, server, i)
	})
}

func TestSimpleInformer_TellsItsHandlerWhatASharedOneTells(t *testing.T) {
	for _, kind := range []QueueKind{InOrder, PerKey} {
		inVirtualTime(t, Options[*config]{Queue: kind, ResyncPeriod: 30 * time.Second}, func(s *story) {
			shared, simple := newRecorder(), newRecorder()
			s.Add(shared, HandlerOptions{})
			i := NewSimple(listwatch.ListerWatcher[*config](s.server), Handler[*config](simple), s.informer.opts)
			s.server.Put("a", "1")
			s.server.Put("b", "1")
			s.Start()
			ctx, cancel := context.WithCancel(context.Background())
			defer func() { cancel(); <-i.Done() }()
			go func() { _ = i.Run(ctx) }()
			s.Settle()
			for _, verb := range []func(){
				func() { s.server.Put("a", "2") },
				func() { s.server.Delete("b") },
				func() { s.server.Put("b", "2") },
				func() { s.server.Unobserved(func() { s.server.Delete("a"); s.server.Put("c", "1") }) },
				func() { s.server.BreakWatch() },
				func() { s.server.Put("c", "2") },
				func() { s.Pass(30 * time.Second) },
			} {
				verb()
				s.Pass(5 * time.Second)
				require.Equal(s, shared.take(), simple.take())
				require.Equal(s, s.informer.Store().Len(), i.Store().Len())
				require.Equal(s, s.informer.Store().ResourceVersion(), i.Store().ResourceVersion())
			}
			require.Empty(s, simple.lies)
		})
	}
}

func TestSimpleInformer_CallsItsHandlerFromItsOwnLoop(t *testing.T) {
	var gate chan struct{} // nil lets everything pass
	r := newRecorder()
	r.during = func(string) {
		if gate != nil {
			<-gate
		}
	}
	plainlyWith(t, Options[*config]{}, r, func(t *testing.T, server *server, i *SimpleInformer[*config]) {
		require.Equal(t, []string{"add a@1 initial", "add b@2 initial"}, r.take())
		stored := func(name string) bool { _, ok := i.Store().GetByKey(named(name)); return ok }
		gate = make(chan struct{})
		server.Put("c", "1")
		synctest.Wait()
		require.True(t, stored("c"), "the store is ahead of the handler")
		server.Put("d", "1")
		synctest.Wait()
		require.False(t, stored("d"), "a slow handler holds up the store")
		close(gate)
		synctest.Wait()
		require.True(t, stored("d"))
		require.Equal(t, []string{"add c@3", "add d@4"}, r.take())
	})
}

func TestSimpleInformer_HasSyncedOnlyWhenTheHandlerWasToldOfTheWholeList(t *testing.T) {
	slow := HandlerFuncs[*config]{AddFunc: func(*config, bool) { <-time.After(time.Second) }}
	plainlyWith(t, Options[*config]{}, slow, func(t *testing.T, _ *server, i *SimpleInformer[*config]) {
		start := time.Now()
		require.False(t, i.HasSynced())
		require.NoError(t, i.WaitForSync(context.Background()))
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}

func TestSimpleInformer_TransformsAndIndexes(t *testing.T) {
	opts := Options[*config]{
		Indexers: indexer.Indexers[*config]{"value": byValue},
		Transform: func(obj *config) (*config, error) {
			if obj.Name == "b" {
				return nil, errors.New("not b")
			}
			obj.Data["value"] += "!"
			return obj, nil
		},
		OnObjectError: func(k listwatch.Key, err error) { require.ErrorContains(t, err, "not "+k.Name) },
	}
	plainly(t, opts, nil, func(t *testing.T, _ *server, i *SimpleInformer[*config]) {
		found, err := i.Store().ByIndex("value", "1!")
		require.NoError(t, err)
		require.Len(t, found, 1)
		listed, err := i.Lister().Namespace("default").List(nil)
		require.NoError(t, err)
		require.Len(t, listed, 1)
		require.EqualValues(t, 1, i.Stats().ObjectErrors)
		require.True(t, i.Stats().Synced)
		require.EqualValues(t, 1, i.Stats().Reflector.PagedLists)
	})
}

func TestSimpleInformer_PanicOfTheHandlerCostsOneCall(t *testing.T) {
	really, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = really, handlers }()
	utilruntime.ReallyCrash, utilruntime.PanicHandlers = false, nil
	var told []string
	h := HandlerFuncs[*config]{AddFunc: func(obj *config, _ bool) {
		told = append(told, obj.Name)
		if obj.Name == "a" {
			panic("no a")
		}
	}}
	plainly(t, Options[*config]{}, h, func(t *testing.T, _ *server, i *SimpleInformer[*config]) {
		require.Equal(t, []string{"a", "b"}, told)
		require.True(t, i.HasSynced())
		told = nil
	})
}
