package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowly is a script that takes d and stops early if its context is cancelled.
func slowly(d time.Duration) func(context.Context, string) (Result, error) {
	return func(ctx context.Context, _ string) (Result, error) {
		select {
		case <-time.After(d):
			return Result{}, nil
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}
}

func TestRun_DrainsWhatIsQueuedAndUnderWayAndDropsWhatIsDelayed(t *testing.T) {
	tell(t, Options[string]{DrainTimeout: time.Minute}, func(s *story) {
		s.Play(slowly(10 * time.Second))
		s.Start()
		s.Enqueue("a")
		s.Enqueue("b")
		s.EnqueueAfter("later", time.Second*15)
		s.At(5 * time.Second)
		s.Stop()
		s.Enqueue("too late")
		s.At(20*time.Second - 1)
		_ = s.ExpectRunning(true)
		s.At(20 * time.Second)
		require.NoError(t, s.ExpectRunning(false))
		s.At(time.Hour)
		s.ExpectCalls("0s a", "10s b")
		s.ExpectLog("Drained")
	})
}

func TestRun_AfterTheDrainTimeoutReconcilesAreCancelledAndQueuedKeysLeft(t *testing.T) {
	tell(t, Options[string]{DrainTimeout: 3 * time.Second}, func(s *story) {
		s.Play(slowly(time.Hour))
		s.Start()
		for _, key := range []string{"a", "b", "c"} {
			s.Enqueue(key)
		}
		s.At(time.Second)
		s.Stop()
		s.At(4*time.Second - 1)
		_ = s.ExpectRunning(true)
		s.At(4 * time.Second)
		err := s.ExpectRunning(false)
		require.ErrorIs(t, err, ErrDrainTimeout)
		assert.ErrorContains(t, err, `"test" cut 1 reconciles short and left 2 queued keys undone`)
		s.ExpectCalls("0s a")
		s.ExpectResults(ResultCancelled, 1)
	})
}

func TestRun_WaitsForAReconcileThatIgnoresItsContext(t *testing.T) {
	tell(t, Options[string]{DrainTimeout: -1}, func(s *story) {
		s.Play(func(context.Context, string) (Result, error) {
			<-time.After(time.Minute)
			return Result{}, nil
		})
		s.Start()
		s.Enqueue("a")
		s.At(time.Second)
		s.Stop()
		s.At(time.Minute - 1)
		_ = s.ExpectRunning(true)
		s.At(time.Minute)
		assert.NoError(t, s.ExpectRunning(false), "it succeeded: nothing was left undone")
	})
}

func TestRun_WithoutADrainNoKeyIsTakenAfterTheCancel(t *testing.T) {
	tell(t, Options[string]{DrainTimeout: -1}, func(s *story) {
		s.Play(func(ctx context.Context, _ string) (Result, error) {
			s.stop() // and the worker goes on at once
			return Result{}, ctx.Err()
		})
		for i := range 100 {
			s.Enqueue(fmt.Sprint(i))
		}
		s.Start()
		s.At(time.Second)
		assert.ErrorContains(t, s.ExpectRunning(false), "cut 1 reconciles short and left 99 queued keys undone")
		s.ExpectCalls("0s 0")
	})
}

func TestRun_RetriesNothingWhileDraining(t *testing.T) {
	tell(t, Options[string]{BaseDelay: time.Second}, func(s *story) {
		s.Play(func(context.Context, string) (Result, error) {
			<-time.After(time.Second)
			return Result{}, errBroken
		})
		s.Start()
		s.Enqueue("a")
		s.At(time.Second / 2)
		s.Stop()
		s.At(time.Second)
		require.NoError(t, s.ExpectRunning(false))
		s.ExpectCalls("0s a")
		s.ExpectLog("not retrying because of the shutdown", `key="a"`)
	})
}

func TestRun_IdleReturnsAtOnceAndASecondTimeNotAtAll(t *testing.T) {
	tell(t, Options[string]{Workers: 3}, func(s *story) {
		s.Start()
		s.At(time.Second)
		require.ErrorIs(t, s.Controller.Run(t.Context()), ErrAlreadyRun)
		s.Stop()
		require.NoError(t, s.ExpectRunning(false))
		assert.Equal(t, time.Second, time.Since(s.start))
	})
}
