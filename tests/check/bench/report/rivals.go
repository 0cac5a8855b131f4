package main

import (
	"fmt"
	"strings"
)

// rivals is the folder with the benchmarks beside other programs than client-go. It has a workload with our implementation and one
// of these.
const rivals = "tests/check/bench/rivals"

const (
	priorityQueue = "controller-runtime"
	statedb       = "statedb"
)

// more is what a rival offers more.
var more = []struct{ impl, text string }{
	{priorityQueue, "controller-runtime's priority queue is part of a whole framework: builders, caches, webhooks, leader election. " +
		"It takes priority, delay and rate limit in one call."},
	{statedb, "statedb has transactions over several tables, watch channels for single keys and queries, and a reconciler. Readers keep any " +
		"old state for as long as they like. It is a database in memory, not only a store for an informer."},
}

// writeRivals writes each workload beside each rival that played it.
func writeRivals(b *strings.Builder, s section) {
	fmt.Fprintf(b, "## Rivals\n\nMeasured on %s.\n\n", s.machine)
	var rows strings.Builder
	for _, rival := range more {
		for _, w := range s.workloads {
			if c := w.compare(ours, rival.impl, seconds); c.Measured() {
				fmt.Fprintf(&rows, "| %s | %s | %s | %s : %s |\n", rival.impl, w.name, c.Bold(), w.amount(ours, allocs), w.amount(rival.impl, allocs))
			}
		}
	}
	writeTable(b, "| rival | workload | faster | allocations per op, ours : theirs |\n|---|---|---|---|\n", &rows)
	b.WriteString("What they offer more:\n\n")
	for _, rival := range more {
		fmt.Fprintf(b, "- %s\n", rival.text)
	}
	b.WriteString("\n")
}
