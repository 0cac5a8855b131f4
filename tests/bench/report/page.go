package main

import (
	"fmt"
	"math"
	"strings"

	"golang.org/x/perf/benchunit"
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
again, and the medians are compared. **Faster** is client-go's time divided by ours: above 1 glasswatch is faster, below 1 it is
slower and the figure is set in bold. *compat* is the facade with client-go's names on our layers. The absolute figures depend on the
machine; they are in the raw files, and laid out with confidence intervals by ` + "`benchstat -col /impl`" + `.

Rows named *InALargeHeap* have 300 MB of something else in their process, so that the collector runs seldom.

The *floor* is the least that a workload can cost at all, where a benchmark ` + "`impl=floor`" + ` measures that: one map lookup, one copy of
the memory, one hand-over from goroutine to goroutine, the decoding itself. *Of the floor* is our time divided by that: 1 is the
floor. What it is of each layer stands there.

End to end, against a real API server: [coldsync.md](coldsync.md), made by ` + "`make coldsync`" + `.

`

// page returns the page with all goals and ratios, losses like wins. The error is that of writeGoals.
func page(goals []goal, sections []section, only []string) (string, error) {
	var b strings.Builder
	b.WriteString(intro)
	err := writeGoals(&b, goals, sections, only)
	for _, s := range sections {
		writeSection(&b, s)
	}
	return b.String(), err
}

func writeSection(b *strings.Builder, s section) {
	file := fileOf(s.layer)
	fmt.Fprintf(b, "## %s\n\n", s.layer)
	if s.charted() {
		fmt.Fprintf(b, "![how many times better than client-go](%s.svg)\n\n", file)
	}
	fmt.Fprintf(b, "[Laid out by benchstat](%s.benchstat.txt), [raw figures](%s.txt). Measured on %s.", file, file, s.machine)
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
			fmt.Fprintf(&rows, "| %s | %s | %s | %s | %s |\n", rowName(w, impl),
				bold(w.ratio(impl, theirs, seconds)), pair(w, impl, allocs), pair(w, impl, bytes), floor(w.ratio(impl, least, seconds)))
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
						w.amount(impl, unit), w.amount(theirs, unit), w.amount(least, unit), bold(w.ratio(impl, theirs, unit)))
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

// bold sets losses in bold.
func bold(ratio float64) string {
	if ratio < 1 {
		return "**" + times(ratio) + "**"
	}
	return times(ratio)
}

func times(ratio float64) string {
	switch {
	case math.IsNaN(ratio):
		return "–"
	case ratio < 1:
		return fmt.Sprintf("%.2f×", ratio)
	case ratio < 10:
		return fmt.Sprintf("%.1f×", ratio)
	case math.IsInf(ratio, 1):
		return "∞"
	}
	return fmt.Sprintf("%.0f×", ratio)
}

func floor(ratio float64) string {
	if math.IsNaN(ratio) {
		return ""
	}
	return fmt.Sprintf("%.1f×", 1/ratio)
}

func pair(w workload, impl, unit string) string {
	a, ok := w.impls[impl][unit]
	b, found := w.impls[theirs][unit]
	if !ok || !found {
		return "–"
	}
	return fmt.Sprintf("%.0f : %.0f", a, b)
}

func (w workload) amount(impl, unit string) string {
	v, ok := w.impls[impl][unit]
	if !ok {
		return "–"
	}
	return amount(v, unit)
}

// amount writes a value so that a person can read it.
func amount(v float64, unit string) string {
	if unit == allocs {
		return fmt.Sprintf("%.3g", v)
	}
	return benchunit.Scale(v, benchunit.ClassOf(unit))
}
