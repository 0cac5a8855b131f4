package parallel

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParallelizeUntil_DoesEachPieceOnce(t *testing.T) {
	for _, c := range []struct{ workers, pieces, chunk int }{
		{1, 10, 0}, {4, 100, 1}, {4, 101, 10}, {10, 3, 0}, {3, 5, 100}, {4, 0, 1}, {4, 9, 3},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			done := make([]atomic.Int32, c.pieces)
			ParallelizeUntil(t.Context(), c.workers, c.pieces, func(i int) { done[i].Add(1) }, WithChunkSize(c.chunk))
			for i := range done {
				assert.EqualValues(t, 1, done[i].Load(), "piece %d", i)
			}
		})
	}
}

func TestParallelizeUntil_WorksInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ParallelizeUntil(t.Context(), 5, 10, func(int) { <-time.After(time.Second) })
		assert.Equal(t, 2*time.Second, time.Since(start))
	})
}

func TestParallelizeUntil_BeginsNoPieceOnceTheContextIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	ParallelizeUntil(ctx, 1, 10, func(int) {
		if n++; n == 3 {
			cancel()
		}
	}, WithChunkSize(4))
	assert.Equal(t, 3, n)
}

func TestParallelizeUntil_APanicReachesTheCaller(t *testing.T) {
	assert.PanicsWithValue(t, "piece 3", func() {
		ParallelizeUntil(t.Context(), 2, 10, func(i int) {
			if i == 3 {
				panic("piece 3")
			}
		})
	})
}

func TestParallelizeUntil_AChunkLargerThanAllIsAllInOne(t *testing.T) {
	for _, chunk := range []int{10, 11, math.MaxInt - 1, math.MaxInt} {
		var done []int
		doPiece := func(piece int) { done = append(done, piece) }
		ParallelizeUntil(context.Background(), 4, 10, doPiece, WithChunkSize(chunk))
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, done)
	}
}
