package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2"

	"glasswatch/workqueue/limiters"
)

var errBroken = errors.New("broken")

func TestController_AFailedKeyWaitsTwiceAsLongEachTimeUntilItSucceeds(t *testing.T) {
	tell(t, Options[string]{BaseDelay: time.Second, MaxDelay: 5 * time.Second}, func(s *story) {
		s.Start()
		s.Fail(errBroken)
		s.Enqueue("a")
		s.At(12500 * time.Millisecond)
		s.ExpectCalls("0s a", "1s a", "3s a", "7s a", "12s a")
		s.ExpectLog("will be retried", `key="a"`, `controller="test"`, `err="broken"`, `after="4s"`, "retry=3")
		s.Play(nil)
		s.At(17 * time.Second)
		s.ExpectCalls("17s a")
		s.ExpectResults(ResultFailed, 5)
		s.ExpectResults(ResultSuccess, 1)

		s.Fail(errBroken)
		s.Enqueue("a")
		s.At(18 * time.Second)
		s.ExpectCalls("17s a", "18s a") // success has made it forget
	})
}

func TestController_BacksOffToFiveMinutesByDefault(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		var gaps []time.Duration
		last := s.start
		s.Play(func(context.Context, string) (Result, error) {
			gaps = append(gaps, time.Since(last))
			last = time.Now()
			return Result{}, errBroken
		})
		s.Start()
		s.Enqueue("a")
		s.At(time.Hour)
		assert.Equal(t, []time.Duration{0, 5 * time.Millisecond, 10 * time.Millisecond}, gaps[:3])
		assert.Equal(t, 5*time.Minute, gaps[len(gaps)-1])
	})
}

func TestController_ARateLimiterOfOnesOwnDecidesTheDelay(t *testing.T) {
	limiter := limiters.NewItemFastSlowRateLimiter[string](time.Second, time.Minute, 1)
	tell(t, Options[string]{RateLimiter: limiter, BaseDelay: time.Hour}, func(s *story) {
		s.Fail(errBroken)
		s.Start()
		s.Enqueue("a")
		s.At(2 * time.Minute)
		s.ExpectCalls("0s a", "1s a", "1m1s a")
	})
}

func TestController_AKeyThatFailsTooOftenIsDroppedUntilItIsEnqueuedAgain(t *testing.T) {
	tell(t, Options[string]{BaseDelay: time.Second, MaxRetries: 2}, func(s *story) {
		s.Fail(errBroken)
		s.Start()
		s.Enqueue("a")
		s.At(time.Hour)
		s.ExpectCalls("0s a", "1s a", "3s a")
		s.ExpectLog("dropping the key", `key="a"`, `err="broken"`, "retries=2")
		s.ExpectResults(ResultFailed, 2)
		s.ExpectResults(ResultDropped, 1)
		s.Enqueue("a")
		s.At(time.Hour + time.Second)
		s.ExpectCalls("1h0m0s a", "1h0m1s a") // with its retries anew
	})
}

func TestController_ATerminalErrorIsNotRetried(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		s.Fail(fmt.Errorf("while reading: %w", Terminal(errBroken)))
		s.Start()
		s.Enqueue("a")
		s.At(time.Hour)
		s.ExpectCalls("0s a")
		s.ExpectLog("failed for good", `key="a"`, `err="while reading: broken"`)
		s.ExpectResults(ResultTerminal, 1)
		s.Enqueue("a")
		s.ExpectCalls("1h0m0s a")
	})
}

func TestTerminal_IsAMarkThatErrorsIsSeesThrough(t *testing.T) {
	assert.NoError(t, Terminal(nil))
	err := Terminal(errBroken)
	assert.ErrorIs(t, err, errBroken)
	assert.EqualError(t, err, "broken")
	assert.True(t, IsTerminal(fmt.Errorf("more: %w", err)))
	assert.False(t, IsTerminal(errBroken))
	assert.False(t, IsTerminal(nil))
}

func TestController_APanicIsAFailureOfThatKeyOnly(t *testing.T) {
	tell(t, Options[string]{BaseDelay: time.Second}, func(s *story) {
		s.Play(func(_ context.Context, key string) (Result, error) {
			if key == "bad" {
				panic(Terminal(io.ErrUnexpectedEOF)) // and a panic is never terminal
			}
			return Result{}, nil
		})
		s.Start()
		s.Enqueue("bad")
		s.Enqueue("good")
		s.At(time.Second)
		s.ExpectCalls("0s bad", "0s good", "1s bad")
		s.ExpectLog("Reconcile panicked", `key="bad"`, "reconcile panicked: unexpected EOF")
		s.ExpectLog("controller_test.go") // the stack
		s.ExpectResults(ResultFailed, 2)
		s.ExpectPanics(2)
	})
}

func TestController_AReconcileThatEndsItsGoroutineIsAFailureOfThatKeyOnly(t *testing.T) {
	tell(t, Options[string]{BaseDelay: time.Second}, func(s *story) {
		s.Play(func(_ context.Context, key string) (Result, error) {
			if key == "bad" {
				runtime.Goexit()
			}
			return Result{}, nil
		})
		s.Start()
		s.Enqueue("bad")
		s.Enqueue("good")
		s.At(time.Second)
		s.ExpectCalls("0s bad", "0s good", "1s bad")
		s.ExpectLog("Reconcile failed, will be retried", "reconcile ended its goroutine")
		s.ExpectResults(ResultFailed, 2)
	})
}

func TestPanicError_UnwrapsToTheErrorThatWasPanickedWith(t *testing.T) {
	assert.ErrorIs(t, &PanicError{Value: io.EOF}, io.EOF)
	assert.NoError(t, (&PanicError{Value: "text"}).Unwrap())
}

func TestController_RequeueAfterForgetsFailuresAndComesBack(t *testing.T) {
	tell(t, Options[string]{BaseDelay: time.Second}, func(s *story) {
		s.Fail(errBroken)
		s.Start()
		s.Enqueue("a")
		s.At(time.Second)
		assert.Equal(t, 2, s.queue.NumRequeues("a"))
		s.Play(func(context.Context, string) (Result, error) { return Result{RequeueAfter: time.Minute}, nil })
		s.At(3 * time.Second)
		assert.Zero(t, s.queue.NumRequeues("a"))
		s.At(2*time.Minute + 3*time.Second)
		s.ExpectCalls("0s a", "1s a", "3s a", "1m3s a", "2m3s a")
		s.ExpectResults(ResultRequeueAfter, 3)
	})
}

func TestController_AnErrorCountsMoreThanRequeueAfter(t *testing.T) {
	tell(t, Options[string]{BaseDelay: time.Second}, func(s *story) {
		s.Play(func(context.Context, string) (Result, error) {
			return Result{RequeueAfter: time.Millisecond}, errBroken
		})
		s.Start()
		s.Enqueue("a")
		s.At(time.Second)
		s.ExpectCalls("0s a", "1s a")
	})
}

func TestController_EnqueueDuringAReconcileBringsTheKeyBackAtOnce(t *testing.T) {
	tell(t, Options[string]{Workers: 4}, func(s *story) {
		s.Play(func(context.Context, string) (Result, error) {
			<-time.After(time.Second)
			return Result{}, nil
		})
		s.Start()
		s.Enqueue("a")
		s.At(time.Second / 2)
		s.Enqueue("a")
		s.Enqueue("a")
		s.At(time.Minute)
		s.ExpectCalls("0s a", "1s a") // never by two of the four workers at a time
	})
}

func TestController_WorkersReconcileDifferentKeysAtATime(t *testing.T) {
	tell(t, Options[string]{Workers: 2}, func(s *story) {
		s.Play(func(context.Context, string) (Result, error) {
			<-time.After(time.Second)
			return Result{}, nil
		})
		s.Start()
		for _, key := range []string{"a", "b", "c", "d"} {
			s.Enqueue(key)
		}
		s.At(time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		assert.ElementsMatch(t, []string{"0s a", "0s b", "1s c", "1s d"}, s.calls)
	})
}

func TestController_LiveChangesOvertakeTheBacklogAlsoWhenTheyAreRetried(t *testing.T) {
	tell(t, Options[string]{BaseDelay: time.Second}, func(s *story) {
		s.EnqueueWithPriority("listed 1", LowPriority)
		s.EnqueueWithPriority("listed 2", LowPriority)
		s.Enqueue("live")
		s.EnqueueAfter("later", time.Hour)
		assert.Equal(t, 3, s.Len(), "a key may be enqueued before Run")
		s.Fail(errBroken)
		s.Start()
		s.ExpectCalls("0s live", "0s listed 1", "0s listed 2")
		s.At(time.Second)
		s.ExpectCalls("1s live", "1s listed 1", "1s listed 2")
	})
}

func TestController_TheReconcilesLoggerKnowsTheKey(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		s.Play(func(ctx context.Context, _ string) (Result, error) {
			klog.FromContext(ctx).Info("hello")
			return Result{}, nil
		})
		s.Start()
		s.Enqueue("a")
		s.ExpectCalls("0s a")
		s.ExpectLog("hello", `controller="test"`, `key="a"`)
	})
}
