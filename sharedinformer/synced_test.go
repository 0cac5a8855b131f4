package sharedinformer

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
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

func TestWaitForSync_NamesWhoDidNotSyncAndTheLastError(t *testing.T) {
	inVirtualTime(t, Options[*config]{Name: "configs"}, func(s *story) {
		s.server.FailLists(apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("not for you")))
		reg := s.Add(HandlerFuncs[*config]{}, HandlerOptions{Name: "web"})
		s.Start()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for who, err := range map[string]error{
			"informer configs": s.informer.WaitForSync(ctx),
			"handler web":      reg.WaitForSync(ctx),
		} {
			require.ErrorIs(s, err, context.DeadlineExceeded)
			require.True(s, apierrors.IsForbidden(err))
			require.ErrorContains(s, err, who+" has not synced: context deadline exceeded: last error: ")
		}
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
