// Package usage says what this process has used up, and on which machine.
//
//	Now: time, CPU, bytes allocated     LiveHeap, Resident, Peak: memory     Describe: the machine
//
// It is for the processes that coldsync and scale measure. The figures are getrusage's and, on Linux, /proc's. It does
// not compile on Windows.
package usage

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is what this process has used up so far.
type Usage struct {
	At        time.Time
	CPU       time.Duration // user and system
	Allocated uint64        // bytes on the heap, freed or not
}

// Now returns what this process has used up until now.
func Now() Usage {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // the arguments are constants
	}
	return Usage{
		At:        time.Now(),
		CPU:       time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		Allocated: metric("/gc/heap/allocs:bytes"),
	}
}

// LiveHeap is the heap after two garbage collections: the second one frees the objects of finalizers and pools.
func LiveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	return metric("/memory/classes/heap/objects:bytes")
}

func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Peak is the most memory, in bytes, that this process ever had resident, the program itself included.
func Peak() uint64 {
	if bytes, ok := ofStatus("VmHWM:"); ok {
		return bytes
	}
	return maxRSS()
}

// Resident is the memory, in bytes, that this process has resident now. Without /proc it is Peak.
func Resident() uint64 {
	if bytes, ok := ofStatus("VmRSS:"); ok {
		return bytes
	}
	return maxRSS()
}

// ofStatus reads a line of /proc, if there is one.
func ofStatus(name string) (bytes uint64, ok bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// maxRSS is for where there is no /proc. macOS counts in bytes, others in KiB.
func maxRSS() uint64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	if runtime.GOOS == "darwin" {
		return uint64(r.Maxrss)
	}
	return uint64(r.Maxrss) << 10
}
