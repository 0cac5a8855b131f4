package main

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/perf/benchunit"

	"glasswatch/tests/check/bench/internal/versus"
)

// The units as benchfmt normalizes them.
const (
	seconds = "sec/op"
	allocs  = "allocs/op"
	bytes   = "B/op"
	speed   = "B/s" // follows from the time
	held    = "B/object"
)

const intro = `# Benchmarks: glasswatch beside client-go v0.37.2

Made by ` + "`make bench`" + `; do not edit. Each workload is played to all implementations in turn, each in a process of its own, again and
again. **Faster** is client-go's median time divided by ours: above 1 glasswatch is faster, below 1 it is slower and the figure is set in
bold. In brackets stands the interval that follows from benchstat's two, which are at 95 %. "~" says that the runs do not tell the two
apart (p > 0.05). Latency percentiles that the runs do not tell apart are left out. *compat* is the facade with client-go's names on our layers. The absolute figures depend on the machine; a run
leaves them in ` + "`bench.out`, also laid out by `benchstat -col /impl`" + `.

Rows named *InALargeHeap* have 300 MB of something else in their process, so that the collector runs seldom.

The *floor* is the least that a workload asks for, where a benchmark ` + "`impl=floor`" + ` measures that: one map lookup, one copy of the memory,
one hand-over from goroutine to goroutine, the decoding itself. *Of the floor* is our time divided by that: 1 is the floor. What it is of
each layer stands there. Where an implementation is faster than that program, it is no floor: the column says *bare*.

What is to be reached, and whether it is: [goals.md](goals.md). End to end, against a real API server: [coldsync.md](coldsync.md), made
by ` + "`make coldsync`" + `.

`

// page returns the page with all ratios, losses like wins.
func page(sections []section, when time.Time) string {
	var b strings.Builder
	b.WriteString(intro)
	fmt.Fprintf(&b, "The last run was on %s.\n\n", when.Format(time.DateOnly))
	for _, s := range sections {
		switch s.layer {
		case rivals:
			writeRivals(&b, s)
		case lens:
			writeLens(&b, s)
		default:
			writeSection(&b, s)
		}
	}
	return b.String()
}

func writeSection(b *strings.Builder, s section) {
	file := fileOf(s.layer)
	fmt.Fprintf(b, "## %s\n\n", s.layer)
	if s.charted() {
		fmt.Fprintf(b, "![how many times better than client-go](%s.svg)\n\n", file)
	}
	fmt.Fprintf(b, "Measured on %s.", s.machine)
	if floor := floors[s.layer]; floor != "" {
		b.WriteString(" The floor: " + floor)
	}
	b.WriteString("\n\n")
	writeTimes(b, s)
	writeOthers(b, s)
}

func writeTimes(b *strings.Builder, s section) {
	var rows strings.Builder
	for _, w := range s.workloads {
		if !w.timed() {
			continue
		}
		for _, impl := range w.variants() {
			if w.told(impl) {
				fmt.Fprintf(&rows, "| %s | %s | %s | %s | %s |\n", rowName(w, impl),
					w.compare(impl, theirs, seconds).Bold(), pair(w, impl, theirs, allocs), pair(w, impl, theirs, bytes), floor(w, impl))
			}
		}
	}
	writeTable(b, "| workload | faster | allocations per op, ours : client-go | bytes per op, ours : client-go | of the floor |\n|---|---|---|---|---|\n", &rows)
}

// writeOthers writes what was measured in units of its own, such as memory held.
func writeOthers(b *strings.Builder, s section) {
	var rows strings.Builder
	for _, w := range s.workloads {
		for _, unit := range w.others() {
			for _, impl := range w.variants() {
				if _, ok := w.impls[impl][unit]; ok {
					fmt.Fprintf(&rows, "| %s | %s | %s : %s : %s | %s |\n", rowName(w, impl), unit,
						w.amount(impl, unit), w.amount(theirs, unit), w.amount(least, unit), w.compare(impl, theirs, unit).Bold())
				}
			}
		}
	}
	writeTable(b, "| workload | unit | ours : client-go : floor | better |\n|---|---|---|---|\n", &rows)
}

func writeTable(b *strings.Builder, head string, rows *strings.Builder) {
	if rows.Len() > 0 {
		b.WriteString(head + rows.String() + "\n")
	}
}

func rowName(w workload, impl string) string { return rowNameOf(w.name, impl) }

func rowNameOf(workload, impl string) string {
	if impl == ours {
		return workload
	}
	return workload + ", " + impl
}

// floor is the time of impl divided by the floor's, or by that of a bare program that something beats.
func floor(w workload, impl string) string {
	c := versus.Compare(w.impls[least][seconds], w.impls[impl][seconds], false)
	switch {
	case !c.Measured():
		return ""
	case w.beaten():
		return "bare: " + c.String()
	}
	return c.String()
}

func pair(w workload, impl, other, unit string) string {
	a, b := versus.Amount(w.impls[impl][unit]), versus.Amount(w.impls[other][unit])
	if !a.Measured() || !b.Measured() {
		return "–"
	}
	return fmt.Sprintf("%.0f : %.0f", a.Center, b.Center)
}

func (w workload) amount(impl, unit string) string {
	a := versus.Amount(w.impls[impl][unit])
	if !a.Measured() {
		return "–"
	}
	return amount(a.Center, unit)
}

// amount writes a value so that a person can read it.
func amount(v float64, unit string) string {
	if unit == allocs {
		return fmt.Sprintf("%.3g", v)
	}
	return benchunit.Scale(v, benchunit.ClassOf(unit))
}
