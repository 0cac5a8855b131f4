package demo

import (
	"fmt"
	"runtime"
	"time"
)

// Heap returns the bytes of memory in use, without garbage. It collects the garbage first, which takes some time.
func Heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// MiB formats a number of bytes for a table: always as wide, so that the columns stay where they are.
func MiB(bytes int64) string { return fmt.Sprintf("%7.2f MiB", float64(bytes)/(1<<20)) }

// Millis formats a duration for a table, likewise.
func Millis(d time.Duration) string { return fmt.Sprintf("%6d ms", d.Milliseconds()) }
