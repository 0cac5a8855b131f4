package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Result is what a reconcile that did not fail asks for.
type Result struct {
	// RequeueAfter is the time after which the key is to be reconciled again even if nothing changes, or sooner if a retry is pending. 0 or less: not.
	RequeueAfter time.Duration
}

// Reconciler brings the world in line with what the object of a key asks for. It learns that something may have
// changed, not what. So it looks at the present state. Nothing to do is its normal case.
type Reconciler[K comparable] interface {
	// Reconcile is never called for the same key by two workers at a time. With an error the Result is ignored and the
	// key is retried later, unless the error is marked by [Terminal]. The context carries a logger (klog.FromContext)
	// that knows the key. It is cancelled when a shutdown has lasted for Options.DrainTimeout.
	Reconcile(ctx context.Context, key K) (Result, error)
}

// Func is a function as a [Reconciler].
type Func[K comparable] func(ctx context.Context, key K) (Result, error)

// Reconcile calls f.
func (f Func[K]) Reconcile(ctx context.Context, key K) (Result, error) { return f(ctx, key) }

// Terminal marks err as one that a retry would not mend. The key is not retried. The text stays as it was, and
// errors.Is and errors.As look through the mark. Terminal returns nil for nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

// IsTerminal reports whether err, or one that it wraps, was marked by [Terminal].
func IsTerminal(err error) bool {
	_, marked := errors.AsType[*terminalError](err)
	return marked
}

type terminalError struct{ error }

func (e *terminalError) Unwrap() error { return e.error }

// PanicError is the failure that a panic of a reconcile is turned into.
type PanicError struct {
	Value any    // what was panicked with
	Stack []byte // of the goroutine that panicked
}

// Error tells the value, not the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("reconcile panicked: %v", e.Value) }

// Unwrap returns the value if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// reconcile calls r and turns a panic into an error.
func reconcile[K comparable](ctx context.Context, r Reconciler[K], key K) (result Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			result, err = Result{}, &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return r.Reconcile(ctx, key)
}
