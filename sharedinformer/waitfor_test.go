package sharedinformer

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

var (
	_ Syncer = (*Informer[*config])(nil)
	_ Syncer = (*Registration)(nil)
)

// notebook is a logger that keeps what it is told.
type notebook struct {
	mu     sync.Mutex
	lines  []string
	during func() // runs inside each call; may be nil

	verbosity int // the greatest V that is kept
}

func (n *notebook) context(parent context.Context) context.Context {
	return klog.NewContext(parent, funcr.New(func(_, args string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.lines = append(n.lines, args)
		if n.during != nil {
			n.during()
		}
	}, funcr.Options{Verbosity: n.verbosity}))
}

func (n *notebook) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := strings.Join(n.lines, "\n")
	n.lines = nil
	return text
}

func TestWaitFor_LogsWhoIsDoneAndReturnsWhenAllAre(t *testing.T) {
	inVirtualTime(t, Options[*config]{Name: "configs"}, func(s *story) {
		s.server.Put("a", "1")
		gate := make(chan struct{})
		reg := s.Add(HandlerFuncs[*config]{AddFunc: func(*config, bool) { <-gate }}, HandlerOptions{Name: "slow"})
		var notes notebook
		done := make(chan error)
		go func() { done <- WaitFor(notes.context(context.Background()), "caches", s.informer, reg) }()
		s.Settle()
		require.Equal(s, `"level"=0 "msg"="Waiting" "for"="caches"`, notes.take())
		s.Start()
		require.Equal(s, `"level"=0 "msg"="Done waiting" "for"="caches" "instance"="configs"`, notes.take())
		close(gate)
		require.NoError(s, <-done)
		require.Equal(s, `"level"=0 "msg"="Done waiting" "for"="caches" "instance"="slow"`, notes.take())
		require.NoError(s, WaitFor(notes.context(context.Background()), "", s.informer))
		require.Empty(s, notes.take(), "without a purpose it is silent")
	})
}

func TestWaitFor_NamesWhoDidNotSyncAndTheLastError(t *testing.T) {
	inVirtualTime(t, Options[*config]{Name: "configs"}, func(s *story) {
		s.server.FailLists(apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("not for you")))
		reg := s.Add(HandlerFuncs[*config]{}, HandlerOptions{Name: "web"})
		s.Start()
		var notes notebook
		ctx, cancel := context.WithTimeout(notes.context(context.Background()), time.Minute)
		defer cancel()
		err := WaitFor(ctx, "caches", s.informer, reg)
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.True(s, apierrors.IsForbidden(err))
		require.ErrorContains(s, err, "informer configs has not synced")
		require.ErrorContains(s, err, "handler web has not synced: context deadline exceeded: last error: ")
		logged := notes.take()
		require.Contains(s, logged, "informer configs has not synced")
		require.Contains(s, logged, "handler web has not synced")
	})
}

func TestWaitFor_EndsWhenOneOfThemCannotSyncAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := New[*config](newServer(), Options[*config]{Name: "stopped"})
		over, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, stopped.Run(over))
		waiting := New[*config](newServer(), Options[*config]{Name: "waiting"})
		err := WaitFor(context.Background(), "", waiting, stopped)
		require.ErrorIs(t, err, ErrStopped)
		require.ErrorContains(t, err, "informer waiting has not synced: given up")
	})
}

func TestWaitForSync_OfAHandlerNamesTheLastErrorOfAnInformerThatHasStopped(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		s.server.FailLists(errors.New("not now"))
		reg := s.Add(newRecorder(), HandlerOptions{Name: "web"})
		s.Start()
		s.Stop()
		err := reg.WaitForSync(context.Background())
		require.ErrorIs(s, err, ErrStopped)
		require.ErrorContains(s, err, "last error: ")
		require.ErrorContains(s, err, "not now")
	})
}

func TestWait_CancellationEndsEveryWaitAtOnce(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		s.server.FailLists(errors.New("not now"))
		reg := s.Add(HandlerFuncs[*config]{}, HandlerOptions{})
		s.Start()
		ctx, cancel := context.WithCancelCause(context.Background())
		reason := errors.New("enough")
		waits := map[string]func() error{
			"informer":     func() error { return s.informer.WaitForSync(ctx) },
			"registration": func() error { return reg.WaitForSync(ctx) },
			"end":          func() error { return reg.Wait(ctx) },
			"all":          func() error { return WaitFor(ctx, "", s.informer, reg) },
		}
		ended := make(chan error, len(waits))
		for name, wait := range waits {
			go func() {
				err := wait()
				if !errors.Is(err, reason) {
					s.Errorf("%s: %v", name, err)
				}
				ended <- err
			}()
		}
		s.Settle()
		require.Empty(s, ended)
		start := time.Now()
		cancel(reason)
		for range waits {
			<-ended
		}
		require.Zero(s, time.Since(start))
	})
}
