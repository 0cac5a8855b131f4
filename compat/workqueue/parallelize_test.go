package workqueue

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/util/workqueue"
)

func TestParallelizeUntil_DoesEachPieceOnceAsClientGoDoes(t *testing.T) {
	for _, pieces := range []int{0, 1, 7, 100} {
		for _, chunk := range []int{-1, 1, 3, 1000} {
			for _, workers := range []int{1, 4, 200} {
				theirs, ours := make([]atomic.Int32, pieces), make([]atomic.Int32, pieces)
				var do DoWorkPieceFunc = func(i int) { theirs[i].Add(1) }
				clientgo.ParallelizeUntil(t.Context(), workers, pieces, do, clientgo.WithChunkSize(chunk))
				do = func(i int) { ours[i].Add(1) }
				ParallelizeUntil(t.Context(), workers, pieces, do, WithChunkSize(chunk))
				for i := range pieces {
					require.EqualValues(t, 1, theirs[i].Load())
					require.EqualValues(t, 1, ours[i].Load())
				}
			}
		}
	}
}

func TestParallelizeUntil_ChunksAreTakenInOnePiece(t *testing.T) {
	var order []int
	opts := []Options{WithChunkSize(10)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ParallelizeUntil(ctx, 1, 100, func(i int) {
		order = append(order, i)
		if i == 4 {
			cancel()
		}
	}, opts...)
	require.Equal(t, []int{0, 1, 2, 3, 4}, order)

	// One chunk is one worker's.
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ParallelizeUntil(t.Context(), 2, 5, func(int) { <-time.After(time.Second) }, opts...)
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

func TestParallelizeUntil_AChunkLargerThanAllIsAllInOne(t *testing.T) {
	for _, chunk := range []int{10, 11, math.MaxInt - 1, math.MaxInt} {
		var done []int
		doPiece := func(piece int) { done = append(done, piece) }
		ParallelizeUntil(t.Context(), 4, 10, doPiece, WithChunkSize(chunk))
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, done)
	}
}

func TestParallelizeUntil_WorksInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ParallelizeUntil(t.Context(), 5, 10, func(int) { <-time.After(time.Second) })
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

func TestParallelizeUntil_TakesANilContext(t *testing.T) {
	var none context.Context
	var done atomic.Int32
	ParallelizeUntil(none, 2, 3, func(int) { done.Add(1) })
	require.EqualValues(t, 3, done.Load())
}

func TestParallelizeUntil_APanicReachesHandleCrashAndThenTheCaller(t *testing.T) {
	handlers := utilruntime.PanicHandlers
	t.Cleanup(func() { utilruntime.PanicHandlers = handlers })
	var handled atomic.Int32
	utilruntime.PanicHandlers = []func(context.Context, any){func(context.Context, any) { handled.Add(1) }}
	require.PanicsWithValue(t, "boom", func() {
		ParallelizeUntil(t.Context(), 1, 3, func(int) { panic("boom") })
	})
	require.EqualValues(t, 1, handled.Load())

	survivePanics(t)
	var done atomic.Int32
	ParallelizeUntil(t.Context(), 1, 3, func(i int) {
		if i == 0 {
			panic("boom")
		}
		done.Add(1)
	})
	require.EqualValues(t, 2, done.Load())
	require.EqualValues(t, 2, handled.Load())
}
