package main

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is what this process has used up so far.
type usage struct {
	at        time.Time
	cpu       time.Duration // user and system
	allocated uint64        // bytes on the heap, freed or not
}

func used() usage {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // the arguments are constants
	}
	return usage{
		at:        time.Now(),
		cpu:       time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		allocated: metric("/gc/heap/allocs:bytes"),
	}
}

// liveHeap is the heap after two garbage collections: the second one frees the objects of finalizers and pools.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	return metric("/memory/classes/heap/objects:bytes")
}

func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// peakMemory is the most memory, in bytes, that this process ever had resident, the program itself included.
func peakMemory() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return maxRSS()
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return maxRSS()
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
