// Package parallel does many small pieces of work by a few goroutines.
package parallel

import (
	"context"
	"sync"
	"sync/atomic"
)

// ParallelOption changes how [ParallelizeUntil] works.
type ParallelOption func(chunk *int)

// WithChunkSize makes a worker take n pieces at a time, for pieces so small that taking one costs as much as doing it.
func WithChunkSize(n int) ParallelOption { return func(chunk *int) { *chunk = n } }

// ParallelizeUntil calls do once for each of the pieces 0 … pieces-1, in no order, from at most workers goroutines. It
// returns when all are done; or when ctx is cancelled, then once each worker has finished the piece it is at. If do
// panics, no further pieces are begun and ParallelizeUntil panics with the same value when the workers are gone.
func ParallelizeUntil(ctx context.Context, workers, pieces int, do func(piece int), opts ...ParallelOption) {
	if pieces <= 0 {
		return
	}
	chunk := 1
	for _, option := range opts {
		option(&chunk)
	}
	chunk = min(max(chunk, 1), pieces) // a chunk of more could overflow
	workers = min(workers, (pieces-1)/chunk+1)

	var (
		next     atomic.Int64
		wg       sync.WaitGroup
		panicked atomic.Pointer[any]
	)
	worker := func() {
		defer func() {
			if r := recover(); r != nil {
				panicked.CompareAndSwap(nil, &r)
			}
		}()
		for {
			first := int(next.Add(int64(chunk))) - chunk
			for piece := first; piece < min(first+chunk, pieces); piece++ {
				if ctx.Err() != nil || panicked.Load() != nil {
					return
				}
				do(piece)
			}
			if first >= pieces {
				return
			}
		}
	}
	for range workers {
		wg.Go(worker)
	}
	wg.Wait()
	if r := panicked.Load(); r != nil {
		panic(*r)
	}
}
