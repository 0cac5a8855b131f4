package parallel_test

import (
	"context"
	"fmt"

	"glasswatch/workqueue/parallel"
)

// Many small pieces of work by a few goroutines.
func ExampleParallelizeUntil() {
	squares := make([]int, 5)
	parallel.ParallelizeUntil(context.Background(), 2, len(squares), func(i int) { squares[i] = i * i })
	fmt.Println(squares)
	// Output: [0 1 4 9 16]
}
