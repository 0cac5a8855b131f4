package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof" // /debug/pprof of http.DefaultServeMux
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/legacyregistry"
)

// look is what /look says of the process. tests/check/programs has the same type.
type look struct {
	Since              time.Duration  // since the start
	Ways               map[string]int // informers that the hook made, by way
	ClientGoReflectors int64          // those of informers, and others of the program
	Synced             int
	LastSync           time.Duration // from the start until the last of these had synced
	CPU                time.Duration // of user and system
	RSS, PeakRSS       int64         // bytes
	Live               uint64        // bytes of the heap after a collection, with ?gc=1
	Watches, Reads     int64         // requests
	Writes             int64
	Bytes              int64 // of the answers' bodies
	Versions           map[string]string
}

// serveLook serves /look, /metrics and /debug/pprof, and prints where.
func serveLook(made *informers, t *traffic) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	http.Handle("/metrics", legacyregistry.Handler())
	http.HandleFunc("/look", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(lookAt(made, t, r.FormValue("gc") != ""))
	})
	fmt.Printf("look %s\n", listener.Addr())
	go func() { _ = http.Serve(listener, nil) }()
	return nil
}

func lookAt(made *informers, t *traffic, collect bool) look {
	l := look{
		Since: time.Since(start), ClientGoReflectors: clientgo.ReflectorsMade.Load(), CPU: cpu(),
		RSS: status("VmRSS:"), PeakRSS: status("VmHWM:"),
		Watches: t.watches.Load(), Reads: t.reads.Load(), Writes: t.writes.Load(), Bytes: t.bytes.Load(),
		Ways: map[string]int{}, Versions: versions(),
	}
	made.mu.Lock()
	for way, n := range made.ways {
		l.Ways[way] = n
	}
	l.Synced, l.LastSync = made.synced, made.lastSync
	made.mu.Unlock()
	if collect {
		runtime.GC()
		runtime.GC() // what sync.Pools and finalizers kept
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		l.Live = m.HeapAlloc
	}
	return l
}

// versions are those of upstream's modules that the process was built from, by path.
func versions() map[string]string {
	all := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			switch module.Path {
			case "k8s.io/kubernetes", "k8s.io/client-go", "sigs.k8s.io/descheduler":
				all[module.Path] = module.Version
			}
		}
	}
	return all
}

func cpu() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// status reads a size from /proc/self/status, in bytes.
func status(field string) int64 {
	raw, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}
