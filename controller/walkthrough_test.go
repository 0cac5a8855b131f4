package controller

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestWalkthrough tells what the package does, one idea after the other. Read it from the top. Each line that ExpectCalls
// lists is one reconcile: when, and of which key.
func TestWalkthrough(t *testing.T) {
	step := func(name string, opts Options[string], f func(s *story)) {
		t.Run(name, func(t *testing.T) { tell(t, opts, f) })
	}

	step("1 a key that is enqueued is reconciled", Options[string]{}, func(s *story) {
		s.Start()
		s.Enqueue("a")
		s.ExpectCalls("0s a")
	})

	step("2 however often it was enqueued", Options[string]{}, func(s *story) {
		for range 10 {
			s.Enqueue("a")
		}
		s.Start()
		s.ExpectCalls("0s a")
	})

	step("3 what fails is tried again, later each time", Options[string]{BaseDelay: time.Second}, func(s *story) {
		s.Fail(errBroken)
		s.Start()
		s.Enqueue("a")
		s.At(10 * time.Second)
		s.ExpectCalls("0s a", "1s a", "3s a", "7s a")
	})

	step("4 unless trying again would not help", Options[string]{}, func(s *story) {
		s.Fail(Terminal(errBroken))
		s.Start()
		s.Enqueue("a")
		s.At(time.Hour)
		s.ExpectCalls("0s a")
	})

	step("5 or was tried often enough", Options[string]{BaseDelay: time.Second, MaxRetries: 1}, func(s *story) {
		s.Fail(errBroken)
		s.Start()
		s.Enqueue("a")
		s.At(time.Hour)
		s.ExpectCalls("0s a", "1s a")
	})

	step("6 a panic is a failure like any other", Options[string]{BaseDelay: time.Second}, func(s *story) {
		s.Play(func(context.Context, string) (Result, error) { panic("oops") })
		s.Start()
		s.Enqueue("a")
		s.At(time.Second)
		s.ExpectCalls("0s a", "1s a")
	})

	step("7 a reconcile may ask to be called again", Options[string]{}, func(s *story) {
		s.Play(func(context.Context, string) (Result, error) { return Result{RequeueAfter: time.Minute}, nil })
		s.Start()
		s.Enqueue("a")
		s.At(time.Minute)
		s.ExpectCalls("0s a", "1m0s a")
	})

	step("8 a shutdown lets the work be finished", Options[string]{}, func(s *story) {
		s.Play(slowly(2 * time.Second))
		s.Start()
		s.Enqueue("a")
		s.Enqueue("b")
		s.Stop()
		s.At(4 * time.Second)
		assert.NoError(s, s.ExpectRunning(false))
		s.ExpectCalls("0s a", "2s b")
	})
}
