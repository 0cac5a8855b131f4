package workqueue

import (
	"context"
	"sync"
	"sync/atomic"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Options change how ParallelizeUntil works. They are not client-go's, for other packages cannot read those.
type Options func(*options)

type options struct{ chunkSize int }

// WithChunkSize makes a worker take c pieces at a time; values below 1 count as 1.
func WithChunkSize(c int) func(*options) { return func(o *options) { o.chunkSize = c } }

// ParallelizeUntil calls doWorkPiece once for each of the pieces 0 … pieces-1, in no order, from at most workers
// goroutines. It returns when all are done; or when ctx, which may be nil, is cancelled, then once each worker has
// finished the piece it is at.
//
// A panic goes through utilruntime.HandleCrash first. Unless that is told not to crash, no further piece begins, and
// ParallelizeUntil panics with the same value when the workers are gone; else the piece is given up, the others go on.
func ParallelizeUntil(ctx context.Context, workers, pieces int, doWorkPiece DoWorkPieceFunc, opts ...Options) {
	if ctx == nil {
		ctx = context.Background()
	}
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if pieces <= 0 {
		return
	}
	chunk := min(max(o.chunkSize, 1), pieces) // a chunk of more could overflow
	workers = min(workers, (pieces-1)/chunk+1)

	var (
		next     atomic.Int64
		wg       sync.WaitGroup
		panicked atomic.Pointer[any]
	)
	do := func(piece int) {
		defer utilruntime.HandleCrashWithContext(ctx)
		doWorkPiece(piece)
	}
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
