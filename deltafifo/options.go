package deltafifo

import (
	"errors"
	"fmt"
	"time"
)

// ErrClosed is returned by the pops of a queue that is closed and empty.
var ErrClosed = errors.New("deltafifo: the queue is closed and empty")

// ErrPopInProgress is returned by InOrder's pops when another one waits or processes: the queue has one consumer.
var ErrPopInProgress = errors.New("deltafifo: another pop is in progress, the in-order queue has one consumer")

// ErrPanicked is wrapped by what OnError is told of a Transform that panicked, and by the *KeyError of a KeyFunc that did.
var ErrPanicked = errors.New("panicked")

// KeyError is returned for an object that has no key. Nothing of that object was queued.
type KeyError struct {
	// Got is the Go type of what came.
	Got string
	// Err is what the KeyFunc said.
	Err error
}

// Error names what was expected and what came.
func (e *KeyError) Error() string {
	return fmt.Sprintf("deltafifo: expected an object with a key, got %s: %v", e.Got, e.Err)
}

// Unwrap returns what the KeyFunc said.
func (e *KeyError) Unwrap() error { return e.Err }

// KnownObjects is what DeltaFIFO asks the consumer's store for: which objects it has. It is the one arrow of the
// pipeline that points back, and it is called with the queue's lock held: an implementation must not call the queue.
type KnownObjects[K comparable, T any] interface {
	// ListKeys returns the keys of all objects the store has.
	ListKeys() []K
	// GetByKey returns the stored object, and whether there is one.
	GetByKey(key K) (T, bool)
}

// Options configures a queue of either kind. Only KeyFunc is required.
type Options[K comparable, T any] struct {
	// KeyFunc names an object. It must be fast, and safe for as many goroutines as call the queue. It is called with no
	// lock held. Its panic becomes a *KeyError.
	KeyFunc func(T) (K, error)
	// Known is the consumer's store. DeltaFIFO only. Nil: Replace finds deletions among the queued keys only, Delete and
	// DeleteKey concern queued keys only, and Resync does nothing.
	Known KnownObjects[K, T]
	// Transform sees every object once, before it is queued, with no lock held; it owns the object and may change it in
	// place. Nil: objects are queued as they come. Where it fails, see the package's section on failing transforms.
	Transform func(T) (T, error)
	// OnError is told of every failed Transform, in the goroutine of the producer's call and before it returns, with no
	// lock held. Nil: such errors are dropped.
	OnError func(key K, err error)
	// BatchSize is the greatest number of deltas in a batch. InOrder only. Zero or less: 1000.
	BatchSize int
	// KeysMayRepeat: a batch may have several deltas of one key, in order, which saves looking for them. InOrder only.
	KeysMayRepeat bool
	// Metrics measure the queue.
	Metrics Metrics
}

// Metrics are told what a queue does, for gauges and histograms. A nil one costs nothing. They must be fast and must not
// call the queue.
type Metrics struct {
	// Queued is told how much is queued each time that it changes, what is being processed not counted: keys in a DeltaFIFO,
	// deltas in an InOrder. It is called with the queue's lock held.
	Queued func(n int)
	// Processed is told how long each process function took, in the goroutine of the pop; with DeltaFIFO, whose process
	// functions run under it, with the queue's lock held.
	Processed func(took time.Duration)
}

func (m *Metrics) queued(n int) {
	if m.Queued != nil {
		m.Queued(n)
	}
}

// start returns when a process function starts, or nothing if nobody wants to know how long it takes.
func (m *Metrics) start() (at time.Time) {
	if m.Processed != nil {
		at = time.Now()
	}
	return at
}

func (m *Metrics) processed(start time.Time) {
	if m.Processed != nil {
		m.Processed(time.Since(start))
	}
}

const defaultBatchSize = 1000
