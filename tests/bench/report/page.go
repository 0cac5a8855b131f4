package main

import (
	"fmt"
	"math"
	"os"
	"strings"
)

// The units as benchfmt normalizes them.
const (
	seconds = "sec/op"
	allocs  = "allocs/op"
	bytes   = "B/op"
	held    = "B/object"
)

const intro = `# Benchmarks: glasswatch beside client-go v0.37.2

Made by ` + "`make bench`" + `; do not edit. Each workload is played to both implementations in the same process, and the median of
all runs is compared. **Faster** is client-go's time divided by ours: above 1 glasswatch is faster, below 1 it is slower and
the figure is set in bold. The absolute figures depend on the machine; they are in the raw files (` + "`benchstat -col /impl`" + ` reads
them). *Of the floor* compares with the least that the workload can cost at all, such as one map lookup or one copy, where a
benchmark ` + "`impl=floor`" + ` measures that: 1 is the floor itself.

`

// writePage writes the page with all ratios, losses like wins.
func writePage(file string, sections []section) error {
	var b strings.Builder
	b.WriteString(intro)
	for _, s := range sections {
		fmt.Fprintf(&b, "## %s\n\n![how many times faster than client-go](%s.svg)\n\nRaw figures: [%s.txt](%s.txt). Measured on %s.\n\n", s.layer, s.layer, s.layer, s.layer, s.machine)
		b.WriteString("| workload | faster | allocations per op, ours : client-go | bytes per op, ours : client-go | of the floor |\n|---|---|---|---|---|\n")
		for _, w := range s.workloads {
			for _, impl := range w.variants() {
				writeRow(&b, w, impl)
			}
		}
		b.WriteString("\n")
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

func writeRow(b *strings.Builder, w workload, impl string) {
	name := w.name
	if impl != ours {
		name += ", " + impl
	}
	unit := seconds
	if _, ok := w.impls[impl][held]; ok {
		unit, name = held, name+" (memory held)"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", name,
		bold(w.ratio(impl, theirs, unit)), pair(w, impl, allocs), pair(w, impl, bytes), floor(w.ratio(impl, least, unit)))
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
