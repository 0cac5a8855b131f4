package demo

import (
	"fmt"
	"runtime"
)

// Heap is how many bytes of memory are in use, garbage not counted. It collects that first, which takes its time.
func Heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// MiB formats a number of bytes.
func MiB(bytes int64) string { return fmt.Sprintf("%.2f MiB", float64(bytes)/(1<<20)) }
