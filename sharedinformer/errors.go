package sharedinformer

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/listwatch"
)

// The errors of informers and registrations. They come wrapped, with the informer's or the handler's name.
var (
	// ErrStarted: Run was called a second time.
	ErrStarted = errors.New("informer was already started")
	// ErrStopped: the informer has stopped.
	ErrStopped = errors.New("informer has stopped")
	// ErrBacklog: a handler was removed because its backlog grew past its MaxBacklog.
	ErrBacklog = errors.New("backlog over its bound")
	// ErrUnknownHandler: the registration is nil or another informer's.
	ErrUnknownHandler = errors.New("handler is not one of this informer's")
	// ErrHandlerExited: a handler was removed because it called runtime.Goexit, as FailNow of a test does.
	ErrHandlerExited = errors.New("handler has ended its goroutine")
)

var (
	// errRemoved: why a handler is done whose removal was asked for. [Registration.Err] is nil then.
	errRemoved = errors.New("it was removed")
	// errHookPanicked: the consumer's batch was not taken over to its end.
	errHookPanicked = errors.New("a hook has panicked")
)

// objectErrors reports objects that could not be read, transformed or indexed.
type objectErrors struct {
	informer string                  // its name
	handler  func(k key, err error)  // the user's; nil logs
	count    atomic.Uint64           // how many were reported
	mu       sync.Mutex              // protects kept
	kept     []listwatch.ObjectError // those that come while a lock is held
}

// report counts an error and calls the user's function. No lock may be held.
func (e *objectErrors) report(k key, err error) {
	e.count.Add(1)
	if e.handler != nil {
		e.handler(k, err)
		return
	}
	klog.Background().Error(err, "Object left out of the store or of an index", "informer", e.informer, "key", k)
}

// keep keeps an error for reportKept. The store calls it for index functions that fail: the consumer holds the
// informer's mutex then.
func (e *objectErrors) keep(k key, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = append(e.kept, listwatch.ObjectError{Key: k, Err: err})
}

// reportKept reports what was kept. No lock may be held.
func (e *objectErrors) reportKept() {
	e.mu.Lock()
	kept := e.kept
	e.kept = nil
	e.mu.Unlock()
	for _, failed := range kept {
		e.report(failed.Key, failed.Err)
	}
}

// crashPause is how long user code that panicked is left alone, if a panic does not end the process.
const crashPause = time.Second

// pauseAfterCrash blocks for crashPause, or until stop is closed.
func pauseAfterCrash(stop <-chan struct{}) {
	select {
	case <-time.After(crashPause):
	case <-stop:
	}
}
