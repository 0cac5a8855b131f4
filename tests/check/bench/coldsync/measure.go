package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"glasswatch/tests/check/bench/internal/usage"
)

// patience is how long a subject may take to sync, and to get the updates.
const patience = 2 * time.Minute

// task is the first input of a measuring process.
type task struct {
	Variant    string
	Kubeconfig string
	Profiles   string // a folder for profiles; empty: none
}

// syncFigures cover the time from the start until all handlers have all pods; memory in bytes.
type syncFigures struct {
	Objects   int // the calls of the first handler
	Wall, CPU time.Duration
	Allocated uint64
	Live      uint64 // the heap after a collection, less what it was before
	Peak      uint64 // resident, the program itself included
}

// storm is sent after the updates.
type storm struct{ Updates int }

// stormFigures are of the updates.
type stormFigures struct {
	Rate     float64 // updates per second
	P50, P99 time.Duration
	CPU      time.Duration // of this process, for each update
}

// measure is the measuring process. It reads its task, prints its syncFigures, and then the stormFigures for each storm
// that it reads.
func measure(in io.Reader, out io.Writer) error {
	read, write := json.NewDecoder(in), json.NewEncoder(out)
	var t task
	if err := read.Decode(&t); err != nil {
		return fmt.Errorf("task: %w", err)
	}
	o := &observer{}
	figures, err := coldSync(t, o)
	if err != nil {
		return err
	}
	before := usage.Now()
	if err := write.Encode(figures); err != nil {
		return err
	}
	for {
		var s storm
		if err := read.Decode(&s); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("storm: %w", err)
		}
		f, err := awaitUpdates(s, o.handler(0), before)
		if err != nil {
			return err
		}
		before = usage.Now()
		if err := write.Encode(f); err != nil {
			return err
		}
	}
}

// awaitUpdates waits until all updates of a storm have arrived. The storm began after before.
func awaitUpdates(s storm, first *handler, before usage.Usage) (f stormFigures, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := first.wait(ctx, s.Updates); err != nil {
		return f, err
	}
	f.CPU = (usage.Now().CPU - before.CPU) / time.Duration(max(1, s.Updates))
	f.P50, f.P99, f.Rate = first.lateness()
	return f, nil
}

// coldSync starts the subject, which then runs as long as the process.
func coldSync(t task, o *observer) (f syncFigures, err error) {
	start, ok := subjects[t.Variant]
	if !ok {
		return f, fmt.Errorf("no variant %q", t.Variant)
	}
	cfg, err := configFor(t.Kubeconfig)
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	heap := usage.LiveHeap()
	stopProfile, err := startProfile(t)
	if err != nil {
		return f, err
	}
	before := usage.Now()
	wait, err := start(context.Background(), cfg, o)
	if err != nil {
		return f, err
	}
	if err := wait(ctx); err != nil {
		return f, err
	}
	after := usage.Now()
	f.Peak = usage.Peak() // before the collections below
	stopProfile()
	f.Wall, f.CPU, f.Allocated = after.At.Sub(before.At), after.CPU-before.CPU, after.Allocated-before.Allocated
	f.Objects = int(o.handler(0).initial.Load())
	f.Live = max(usage.LiveHeap(), heap) - heap
	return f, writeHeap(t)
}

// startProfile returns what ends it.
func startProfile(t task) (stop func(), err error) {
	if t.Profiles == "" {
		return func() {}, nil
	}
	file, err := os.Create(filepath.Join(t.Profiles, t.Variant+".cpu.pprof"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close() // a reader notices a truncated profile
	}, nil
}

func writeHeap(t task) error {
	if t.Profiles == "" {
		return nil
	}
	file, err := os.Create(filepath.Join(t.Profiles, t.Variant+".heap.pprof"))
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(file), file.Close())
}
