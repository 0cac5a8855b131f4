package deltafifo

import (
	"errors"
	"time"
)

// ErrClosed is returned by the pops of a queue that is closed and empty.
var ErrClosed = errors.New("deltafifo: the queue is closed and empty")

// ErrPopInProgress is returned by InOrder's pops when another one waits or processes: the queue has one consumer.
var ErrPopInProgress = errors.New("deltafifo: another pop is in progress, the in-order queue has one consumer")

// KnownObjects is the consumer's store, as far as DeltaFIFO asks it. It is called with the queue's lock held: an
// implementation must not call the queue.
type KnownObjects[K comparable, T any] interface {
	// ListKeys returns the keys of all objects the store has.
	ListKeys() []K
	// GetByKey returns the stored object, and whether there is one.
	GetByKey(key K) (T, bool)
}

// Options configures a queue of either kind. Only KeyFunc is required.
type Options[K comparable, T any] struct {
	// KeyFunc names an object. It is called with no lock held, by all producers. If it panics, there is no key.
	KeyFunc func(T) (K, error)
	// Known is the consumer's store, for DeltaFIFO. Nil: deletions concern queued keys only, Resync does nothing.
	Known KnownObjects[K, T]
	// Transform sees every object once, except DeleteUnknown's, in the producer's goroutine with no lock held. It may
	// change the object. It may be nil.
	Transform func(T) (T, error)
	// OnError is told of every failed Transform, in the producer's goroutine with no lock held. It may be nil.
	OnError func(key K, err error)
	// BatchSize is the greatest number of deltas in a batch. A pop that leaves twice as many holds producers up; see
	// "Backpressure" in doc.go. InOrder only. Zero or less: 1000.
	BatchSize int
	// KeysMayRepeat allows several deltas of one key in a batch, in order. It saves the search for them. InOrder only.
	KeysMayRepeat bool
	// Metrics measure the queue.
	Metrics Metrics
}

// Metrics are told what a queue does. Each may be nil. They must be fast and must not call the queue. A panic of theirs
// reaches the caller; of a Replace or a Resync the rest is then not queued.
type Metrics struct {
	// Queued is told how many keys (DeltaFIFO) or deltas (InOrder) wait, with the queue's lock held.
	Queued func(n int)
	// Processed is told how long each process function took. DeltaFIFO calls it with the queue's lock held.
	Processed func(took time.Duration)
}

func (o Options[K, T]) withDefaults() Options[K, T] {
	if o.KeyFunc == nil {
		panic("deltafifo: Options.KeyFunc is required")
	}
	if o.Known == nil {
		o.Known = nothingKnown[K, T]{}
	}
	if o.BatchSize <= 0 {
		o.BatchSize = 1000
	}
	if o.Metrics.Queued == nil {
		o.Metrics.Queued = func(int) {}
	}
	return o
}

type nothingKnown[K comparable, T any] struct{}

func (nothingKnown[K, T]) ListKeys() []K               { return nil }
func (nothingKnown[K, T]) GetByKey(K) (obj T, ok bool) { return obj, false }
