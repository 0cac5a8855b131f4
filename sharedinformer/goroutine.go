package sharedinformer

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutineID returns the number of the calling goroutine. The runtime tells it in stack traces only. It serves to notice a
// handler that waits for itself, which would be a silent deadlock; nothing else hangs on it.
func goroutineID() uint64 {
	var buf [64]byte
	trace := buf[:runtime.Stack(buf[:], false)] // "goroutine 17 [running]:…"
	fields := bytes.Fields(trace)
	if len(fields) < 2 {
		return 0
	}
	id, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return id
}
