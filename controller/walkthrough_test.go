package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"glasswatch/internal/book"
)

// TestWalkthrough tells what the package does, one idea after the other. Read it from the top. Each string that reconciled
// gets is one reconcile: when, and of which key.
func TestWalkthrough(t *testing.T) {
	book.Chapter(t, "7 of 7, controller: the hands", `A controller takes keys from the queue and calls your
		reconcile function, which makes the world as it should be for that key. Here the keys are a and b.`)
	reconciled := func(s *story, calls ...string) {
		s.Helper()
		s.ExpectCalls(calls...)
		book.Saw(s.T, "reconciled: %s", inWords(calls))
	}
	step := func(name string, opts Options[string], f func(s *story)) {
		t.Run(name, func(t *testing.T) { tell(t, opts, f) })
	}

	step("1 a key that is enqueued is reconciled", Options[string]{}, func(s *story) {
		s.Start()
		s.Enqueue("a")
		reconciled(s, "0s a")
		book.Why(s.T, `The reconcile gets a key and no event. It reads the present state, so it does not matter what it
			missed (level-triggered).`)
	})

	step("2 a key that is enqueued ten times is reconciled once", Options[string]{}, func(s *story) {
		for range 10 {
			s.Enqueue("a")
		}
		s.Start()
		reconciled(s, "0s a")
		book.Why(s.T, `One look at the present state answers all changes before it.`)
	})

	step("3 a key that fails is tried again, later each time", Options[string]{BaseDelay: time.Second}, func(s *story) {
		s.Fail(errBroken)
		s.Start()
		s.Enqueue("a")
		s.At(10 * time.Second)
		reconciled(s, "0s a", "1s a", "3s a", "7s a")
		book.Why(s.T, `Most failures pass: a conflict, a server that restarts. Waiting twice as long each time keeps the
			load low if this one does not.`)
	})

	step("4 after a terminal error the key is not tried again", Options[string]{}, func(s *story) {
		s.Fail(Terminal(errBroken))
		s.Start()
		s.Enqueue("a")
		s.At(time.Hour)
		reconciled(s, "0s a")
		book.Why(s.T, `A Service with a bad annotation stays bad until somebody edits it, and the edit enqueues the
			key.`)
	})

	step("5 after MaxRetries retries the key is given up", Options[string]{BaseDelay: time.Second, MaxRetries: 1}, func(s *story) {
		s.Fail(errBroken)
		s.Start()
		s.Enqueue("a")
		s.At(time.Hour)
		reconciled(s, "0s a", "1s a")
		book.Why(s.T, `A program that would rather report a failure than go on can set a limit. By default there is
			none.`)
	})

	step("6 a panic is a failure like any other", Options[string]{BaseDelay: time.Second}, func(s *story) {
		s.Play(func(context.Context, string) (Result, error) { panic("oops") })
		s.Start()
		s.Enqueue("a")
		s.At(time.Second)
		reconciled(s, "0s a", "1s a")
		book.Why(s.T, `A bug that shows with one object must not stop the work for all others.`)
	})

	step("7 a reconcile may ask to be called again", Options[string]{}, func(s *story) {
		s.Play(func(context.Context, string) (Result, error) { return Result{RequeueAfter: time.Minute}, nil })
		s.Start()
		s.Enqueue("a")
		s.At(time.Minute)
		reconciled(s, "0s a", "1m0s a")
		book.Why(s.T, `Some things change without an event: a certificate expires, a load balancer gets its address.`)
	})

	step("8 a shutdown finishes what is queued", Options[string]{}, func(s *story) {
		s.Play(slowly(2 * time.Second))
		s.Start()
		s.Enqueue("a")
		s.Enqueue("b")
		s.Stop()
		s.At(4 * time.Second)
		assert.NoError(s, s.ExpectRunning(false))
		reconciled(s, "0s a", "2s b")
		book.Why(s.T, `A write that is cut in half is left to the successor. Run returns when the last reconcile has.`)
	})
}

// inWords says which keys were reconciled when: "1s a" is "a at 1s".
func inWords(calls []string) string {
	var parts []string
	for _, call := range calls {
		at, key, _ := strings.Cut(call, " ")
		parts = append(parts, key+" at "+at)
	}
	return strings.Join(parts, ", ")
}
