package sharedinformer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// line is a controller on a server, and what its process function was given.
type line struct {
	*testing.T
	server     *server
	controller *Controller[*config]
	mu         sync.Mutex // protects log
	log        []string
	during     func(what string) error
	failed     []string
	logs       notebook
	cancel     context.CancelFunc
	ended      chan struct{}
}

// onALine runs a story around a controller with each kind of queue.
func onALine(t *testing.T, opts reflector.Options, tell func(l *line)) {
	t.Helper()
	for _, kind := range []QueueKind{InOrder, PerKey} {
		t.Run(nameOf(kind), func(t *testing.T) { onALineWith(t, kind, opts, tell) })
	}
}

func onALineWith(t *testing.T, kind QueueKind, opts reflector.Options, tell func(l *line)) {
	queueOpts := deltafifo.Options[key, *config]{KeyFunc: func(obj *config) (key, error) { return listwatch.KeyOf(obj), nil }}
	opts.DisableStreamingList = true
	opts.OnError = func(context.Context, error) {}
	opts.Backoff = reflector.Backoff{Base: 100 * time.Millisecond, Max: time.Second, Jitter: -1}
	synctest.Test(t, func(t *testing.T) {
		l := &line{T: t, server: newServer(), ended: make(chan struct{})}
		var queue Queue[*config] = deltafifo.NewInOrder(queueOpts)
		if kind == PerKey {
			queue = deltafifo.NewDeltaFIFO(queueOpts)
		}
		l.controller = NewController(ControllerConfig[*config]{
			Name:           "line",
			ListerWatcher:  l.server,
			Queue:          queue,
			Process:        l.process,
			OnProcessError: func(_ context.Context, err error) { l.failed = append(l.failed, err.Error()) },
			Reflector:      opts,
		})
		tell(l)
		l.Stop()
	})
}

func (l *line) process(deltas []deltafifo.Delta[key, *config], isInInitialList bool) error {
	for _, d := range deltas {
		what := fmt.Sprint(d.Type, " ", d.Key.Name)
		if d.Bulk != nil {
			what = fmt.Sprint(d.Type, " ", len(d.Bulk.Items))
		}
		if isInInitialList {
			what += " initial"
		}
		l.mu.Lock()
		l.log = append(l.log, what)
		l.mu.Unlock()
		if l.during != nil {
			if err := l.during(what); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *line) Start() {
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(l.logs.context(context.Background()))
	go func() {
		defer close(l.ended)
		_ = l.controller.Run(ctx)
	}()
	synctest.Wait()
}

func (l *line) Stop() {
	if l.cancel != nil {
		l.cancel()
		<-l.ended
	}
}

// Expect compares what was processed since the last time: with the in-order queue, and with the per-key one.
func (l *line) Expect(inOrder, perKey []string) {
	l.Helper()
	synctest.Wait()
	want := inOrder
	if _, ok := l.controller.cfg.Queue.(*deltafifo.DeltaFIFO[key, *config]); ok {
		want = perKey
	}
	require.Equal(l, want, l.take())
}

func (l *line) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.log
	l.log = nil
	return log
}

func TestController_RunsReflectorAndQueueAroundAProcessFunction(t *testing.T) {
	onALine(t, reflector.Options{}, func(l *line) {
		l.server.Put("a", "1")
		l.server.Put("b", "1")
		require.Empty(l, l.controller.LastSyncResourceVersion())
		require.False(l, l.controller.HasSynced())
		l.Start()
		l.Expect([]string{"ReplacedAll 2 initial"}, []string{"Replaced a initial", "Replaced b initial"})
		require.True(l, l.controller.HasSynced())
		require.NoError(l, l.controller.WaitForSync(context.Background()))
		l.server.Put("a", "2")
		l.server.Put("c", "1")
		l.Expect([]string{"Updated a", "Added c"}, []string{"Updated a", "Added c"})
		require.Equal(l, "4", l.controller.LastSyncResourceVersion())
		require.ErrorIs(l, l.controller.Run(context.Background()), ErrStarted)
		l.Stop()
		require.True(l, isClosed(l.controller.Done()))
	})
}

func TestController_ErrorOfProcessIsReportedAndCostsThatBatch(t *testing.T) {
	onALine(t, reflector.Options{}, func(l *line) {
		l.during = func(what string) error {
			if what == "Added a" {
				return errors.New("no a")
			}
			return nil
		}
		l.Start()
		l.take()
		l.server.Put("a", "1")
		synctest.Wait()
		l.server.Put("b", "1")
		l.Expect([]string{"Added a", "Added b"}, []string{"Added a", "Added b"})
		require.Equal(l, []string{"no a"}, l.failed)
	})
}

func TestController_PanicOfProcessCostsThatBatchIfTheProcessSurvivesIt(t *testing.T) {
	really, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = really, handlers }()
	utilruntime.ReallyCrash, utilruntime.PanicHandlers = false, nil
	onALine(t, reflector.Options{}, func(l *line) {
		l.during = func(what string) error {
			if what == "Added a" {
				panic(what)
			}
			return nil
		}
		l.Start()
		l.take()
		l.server.Put("a", "1")
		l.Expect([]string{"Added a"}, []string{"Added a"})
		l.server.Put("b", "1")
		l.Expect(nil, nil)
		<-time.After(crashPause)
		l.Expect([]string{"Added b"}, []string{"Added b"})
	})
}

func TestController_ProcessThatEndsItsGoroutineTakesTheReflectorWithIt(t *testing.T) {
	var state reflector.State
	opts := reflector.Options{OnTransition: func(_, to reflector.State) { state = to }}
	onALine(t, opts, func(l *line) {
		l.during = func(string) error { runtime.Goexit(); return nil }
		l.server.Put("a", "1")
		l.Start()
		<-l.controller.Done()
		synctest.Wait()
		require.Equal(l, reflector.Stopped, state)
		require.Error(l, l.controller.Run(context.Background()))
	})
}

func TestController_ResyncsTheQueueWhenAskedTo(t *testing.T) {
	var due atomic.Bool
	onALine(t, reflector.Options{}, func(l *line) {
		l.controller.cfg.ResyncPeriod, l.controller.cfg.ShouldResync = 10*time.Second, due.Load
		due.Store(false)
		l.logs.verbosity = 4
		l.Start()
		l.take()
		<-time.After(15 * time.Second)
		l.Expect(nil, nil)
		require.NotContains(l, l.logs.take(), "Forcing resync")
		due.Store(true)
		<-time.After(10 * time.Second)
		require.Contains(l, l.logs.take(), `"msg"="Forcing resync" "reflector"="line"`)
		l.Expect([]string{"SyncAll "}, nil) // a DeltaFIFO that knows of no store has nothing to sync
	})
}

func TestController_RunReturnsAfterTheLastCallOfProcess(t *testing.T) {
	onALineWith(t, InOrder, reflector.Options{}, func(l *line) {
		release := make(chan struct{})
		l.during = func(string) error { <-release; return nil }
		l.server.Put("a", "1")
		l.Start()
		l.cancel()
		synctest.Wait()
		require.False(l, isClosed(l.controller.Done()))
		close(release)
		<-l.ended
	})
}

func TestController_WaitForSyncSaysTheLastError(t *testing.T) {
	onALine(t, reflector.Options{}, func(l *line) {
		l.server.FailLists(apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("not for you")))
		l.Start()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := l.controller.WaitForSync(ctx)
		require.ErrorIs(l, err, context.DeadlineExceeded)
		require.True(l, apierrors.IsForbidden(err))
		require.ErrorContains(l, err, "controller line has not synced")
		require.True(l, apierrors.IsForbidden(l.controller.LastError()))
		l.Stop()
		require.ErrorIs(l, l.controller.WaitForSync(context.Background()), ErrStopped)
	})
}

func TestController_PanicsWithoutItsParts(t *testing.T) {
	require.Panics(t, func() { NewController(ControllerConfig[*config]{ListerWatcher: newServer()}) })
}
