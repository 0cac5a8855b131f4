package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"

	"glasswatch/sharedinformer"
)

// collectEvery is the number of samples between two that begin with a garbage collection, to know the live heap.
const collectEvery = 4

// sample is a moment of the soak.
type sample struct {
	At         time.Duration
	Heap       uint64 // bytes of spans in use
	Live       uint64 // bytes after a garbage collection; 0 if there was none
	Goroutines int
	Changes    uint64        // since the beginning
	Rate       float64       // changes a second since the sample before
	LagHalf    time.Duration // from sending a change to the handler's call; the median
	LagMost    time.Duration // one in a hundred took longer
	Delivered  int           // changes that the lag handler got since the sample before
	Queue      int           // keys that wait in the workqueue
	Backlog    int           // changes that wait for the slow handler
	Incoming   int           // changes that wait between the reflector and the store
	Refused    uint64        // changes that the server did not take, since the beginning
	Faults     uint64        // since the beginning
	Restarts   int64         // of the informer with the checkpoint
	Resumed    int64         // those of them that went on from the checkpoint
}

// lags collects how late changes come.
type lags struct {
	mu   sync.Mutex // protects took
	took []time.Duration
}

func (l *lags) handler() sharedinformer.Handler[object] {
	seen := func(obj object) {
		sent, err := strconv.ParseInt(obj.Data[sentKey], 10, 64)
		if err != nil {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.took = append(l.took, time.Since(time.Unix(0, sent)))
	}
	return sharedinformer.HandlerFuncs[object]{
		AddFunc: func(obj object, isInInitialList bool) {
			if !isInInitialList {
				seen(obj)
			}
		},
		UpdateFunc: func(_, obj object) { seen(obj) },
	}
}

// take returns what came since the last call.
func (l *lags) take() (count int, half, most time.Duration) {
	l.mu.Lock()
	took := l.took
	l.took = nil
	l.mu.Unlock()
	if len(took) == 0 {
		return 0, 0, 0
	}
	slices.Sort(took)
	return len(took), took[len(took)/2], took[len(took)*99/100]
}

// interval is the time between two samples: for 240 of them, within bounds.
func interval(lasts time.Duration) time.Duration {
	return min(max(lasts/240, 250*time.Millisecond), 5*time.Second)
}

// measure takes samples till ctx ends.
func (w *world) measure(ctx context.Context, p *progress) (samples []sample, err error) {
	defer p.end()
	profiled := false
	began := time.Now()
	tick := time.NewTicker(interval(w.lasts))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return samples, errors.Join(err, w.profile("heap-end.pprof"))
		case <-tick.C:
		}
		s := w.sample(began, len(samples)%collectEvery == 0)
		if n := len(samples); n > 0 {
			before := samples[n-1]
			s.Rate = float64(s.Changes-before.Changes) / (s.At - before.At).Seconds()
		} else {
			s.Rate = float64(s.Changes) / s.At.Seconds()
		}
		samples = append(samples, s)
		p.show(s)
		if !profiled && s.At > w.lasts/2 {
			profiled, err = true, w.profile("heap-half.pprof")
		}
	}
}

// profile writes what is in the heap. Two of them tell what has come between: go tool pprof -diff_base A B.
func (w *world) profile(name string) error {
	file, err := os.Create(filepath.Join(w.out, name))
	if err != nil {
		return err
	}
	w.quietly(func() { err = pprof.Lookup("heap").WriteTo(file, 0) })
	return errors.Join(err, file.Close())
}

// quietly calls look after garbage collections, with the writers blocked. Objects that are allocated during a
// collection count as live, and on a busy machine they are the most. So the writers stop, and a second collection frees
// the garbage of the first.
func (w *world) quietly(look func()) {
	w.gate.Lock()
	defer w.gate.Unlock()
	runtime.GC()
	runtime.GC()
	look()
}

func (w *world) sample(began time.Time, collect bool) sample {
	s := sample{At: time.Since(began), Changes: w.changes.Load(), Refused: w.refused.Load(), Faults: w.faultCount.Load(),
		Restarts: w.started.Load() - 1, Resumed: w.resumed.Load(), Queue: w.controller.Len(), Goroutines: goroutines()}
	s.Delivered, s.LagHalf, s.LagMost = w.lags.take()
	stats := w.main.Stats()
	s.Incoming = stats.QueueDepth
	for _, h := range stats.Handlers {
		if h.Name == "slow" {
			s.Backlog = h.Depth
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.Heap = m.HeapInuse
	if collect {
		w.quietly(func() { runtime.ReadMemStats(&m) })
		s.Live = m.HeapAlloc
	}
	return s
}

func goroutines() int { return runtime.NumGoroutine() }

// progress is a line on a terminal.
type progress struct {
	out   io.Writer
	live  bool
	lasts time.Duration
}

func newProgress(out io.Writer, lasts time.Duration) *progress {
	file, ok := out.(*os.File)
	return &progress{out: out, live: ok && term.IsTerminal(int(file.Fd())), lasts: lasts}
}

func (p *progress) show(s sample) {
	if p.live {
		fmt.Fprintf(p.out, "\r\033[K%.0f %% done, %.0f changes/s, %s left; heap %s, %d goroutines, lag %s, %d faults",
			100*float64(s.At)/float64(p.lasts), s.Rate, max(p.lasts-s.At, 0).Round(time.Second), mebibytes(float64(s.Heap)), s.Goroutines, s.LagHalf.Round(time.Millisecond), s.Faults)
	}
}

func (p *progress) end() {
	if p.live {
		fmt.Fprint(p.out, "\r\033[K")
	}
}

func mebibytes(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }
