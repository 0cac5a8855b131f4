package main

import (
	"fmt"
	"strings"

	"glasswatch/tests/check/bench/internal/versus"
)

// lens is the folder with the benchmark of layers that the lens looks at, and of the same that nobody looks at.
const lens = "internal/lens"

const (
	unseen  = "none"
	unread  = "hub"
	cpuTime = "cpu-sec/op"
	// keptSpeed is what the layers keep of their speed with a reader, at least.
	keptSpeed = 0.95
)

const lensIntro = `## What looking on costs

A pipeline of listwatch, reflector, queue, store, two handlers, workqueue and the ingress controller's reconciler, with one worker.
One op is one change of a Service, from its frame until its key was reconciled. Nothing waits between changes. *hub*: each layer has
the lens's observer, and nobody reads. *reader*: beside that, a client written in Go reads the stream in the same process, over a
socket. Each is compared with *none*: no layer has an observer. They are measured in turns, each in a process of its own.

*from=frames* reads the frames of a watch from memory: that is the layers alone, as fast as they can. *from=server* has the API server
in memory make each change, encode and send it, as in cmd/lens; what it sends is reported, too. It is at most 200 changes ahead of
the reconciler. The server takes most of the time.

**Speed** is the time of *none* divided by that of the other. **By CPU** is the same for the processors' time, which depends less on
what else the machine does; the goals are about that. They are: at least %s with a reader, and without one nothing that benchstat can
tell.

`

// writeLens writes what each way of looking costs each workload.
func writeLens(b *strings.Builder, s section) {
	fmt.Fprintf(b, lensIntro, versus.Times(keptSpeed))
	fmt.Fprintf(b, "Measured on %s.\n\n", s.machine)
	var rows strings.Builder
	var missed []string
	for _, w := range s.workloads {
		for _, impl := range []string{unread, "reader"} {
			byCPU := w.compare(impl, unseen, cpuTime)
			if !byCPU.Measured() {
				continue
			}
			verdict := lensVerdict(impl, byCPU)
			if verdict == lensMissed {
				missed = append(missed, w.name+" with "+impl)
			}
			fmt.Fprintf(&rows, "| %s | %s | %s | %s | %s | %s |\n", w.name, impl, w.compare(impl, unseen, seconds).Bold(),
				byCPU.Bold(), pair(w, impl, unseen, allocs), verdict)
		}
	}
	writeTable(b, "| workload | looked at by | speed | by CPU | allocations per op, with : without | goal |\n|---|---|---|---|---|---|\n", &rows)
	if len(missed) > 0 {
		fmt.Fprintf(b, "The lens misses its goals here: %s.\n\n", strings.Join(missed, "; "))
	}
}

const lensMissed = "**missed**"

// lensVerdict says whether the worse end of the interval meets the goal.
func lensVerdict(impl string, byCPU versus.Ratio) string {
	switch {
	case byCPU.N < versus.Enough:
		return "too few runs"
	case impl == unread && !byCPU.Differs(), impl != unread && byCPU.Low >= keptSpeed:
		return "met"
	}
	return lensMissed
}
