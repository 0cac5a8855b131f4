package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// goal is how one figure of a benchmark is to compare with client-go's, or with the floor's.
type goal struct {
	layer    string // its folder
	workload string // the benchmark's name without the implementation
	unit     string
	impl     string
	other    string
	// times is how many times better impl must be than other. 0: what counts is most.
	times float64
	most  float64
}

// The workloads are named as in the benchmarks. One that is not there any more makes the report fail.
var goals = slices.Concat(
	ofLayer("indexer",
		faster("GetByKey objects=10000", 1/1.1),
		faster("GetByForeignKey objects=10000", 1/1.1),
		faster("GetByKeyOnAllCoresBesideOneWriter objects=10000", 2.5),
		faster("List objects=10000", 2.5),
		faster("Iterate objects=10000", 10), allocating("Iterate objects=10000", 0),
		faster("ByIndex100Hits objects=10000", 3),
		faster("UpdateSameIndexValues objects=10000", 2), allocating("UpdateSameIndexValues objects=10000", 0),
		faster("Replace objects=10000", 2), better("Replace objects=10000", allocs, 10),
		faster("WriteBesideTenListers objects=10000", 1000), better("WriteBesideTenListers objects=10000", "reads/s", 1),
		better("BytesPerObject objects=10000", held, 1/0.6),
	),
	ofLayer("deltafifo",
		faster("DeltaFIFO_UpdatePop depth=1", 3), allocating("DeltaFIFO_UpdatePop depth=1", 1),
		faster("DeltaFIFO_UpdatePop depth=1000", 3), allocating("DeltaFIFO_UpdatePop depth=1000", 1),
		faster("InOrder_UpdatePopBatch depth=1000", 3), allocating("InOrder_UpdatePopBatch depth=1000", 0),
	),
	ofLayer("sharedinformer",
		faster("Event source=watch-buffer-100 handlers=1", 5), allocating("Event source=watch-buffer-100 handlers=1", 2),
		faster("Event source=watch-buffer-100 handlers=10", 5), allocating("Event source=watch-buffer-100 handlers=10", 2),
		faster("Event source=pull-stream handlers=1", 8),
		faster("Latency quantile=p50", 10),
		ofFloor("Latency quantile=p99", 1.5),
	),
	ofLayer("workqueue",
		faster("AddGetDone keys=10000", 2), allocating("AddGetDone keys=10000", 0),
		faster("AddGetDone_FourProducersFourConsumers backlog=1000", 1.8), allocating("AddGetDone_FourProducersFourConsumers backlog=1000", 0),
		faster("AddAfter keys=10000 deadline=later", 4), faster("AddAfter_NewKeys", 4),
		faster("AddAfter_DueWithinAMillisecond", 2),
		faster("AddRateLimited keys=10000", 3), faster("Retry", 3),
	),
	// client-go's own index functions, which a facade must call, allocate.
	ofLayer("compat/cache",
		ofFacade(faster("StoreUpdateSameIndexValues objects=10000", 1.4)),
		ofFacade(faster("StoreReplace objects=10000", 1.4)),
	),
)

func ofLayer(layer string, goals ...goal) []goal {
	for i := range goals {
		goals[i].layer = layer
	}
	return goals
}

func better(workload, unit string, times float64) goal {
	return goal{workload: workload, unit: unit, impl: ours, other: theirs, times: times}
}

func faster(workload string, times float64) goal { return better(workload, seconds, times) }

// ofFacade makes a goal one of the facade.
func ofFacade(g goal) goal {
	g.impl = facade
	return g
}

// allocating is at most so many allocations an operation.
func allocating(workload string, most float64) goal {
	return goal{workload: workload, unit: allocs, impl: ours, most: most}
}

// ofFloor is at most so many times the floor's time.
func ofFloor(workload string, most float64) goal {
	return goal{workload: workload, unit: seconds, impl: ours, other: least, times: 1 / most}
}

// reached returns what the goal is about; an error with the benchmark's name if that was not measured.
func (g goal) reached(sections []section) (float64, error) {
	for _, s := range sections {
		for _, w := range s.workloads {
			if s.layer != g.layer || w.name != g.workload {
				continue
			}
			got := w.impls[g.impl][g.unit]
			if _, ok := w.impls[g.impl][g.unit]; !ok {
				break
			}
			if g.times > 0 {
				got = w.ratio(g.impl, g.other, g.unit)
			}
			if !math.IsNaN(got) {
				return got, nil
			}
		}
	}
	who := g.impl
	if g.other != "" {
		who += " and " + g.other
	}
	return math.NaN(), fmt.Errorf("a goal is about %s of %q in %s, and that was not measured with %s", g.unit, g.workload, g.layer, who)
}

func (g goal) met(got float64) bool {
	if g.times > 0 {
		return got >= g.times
	}
	return got <= g.most
}

// show writes a figure of the goal, reached or to be reached.
func (g goal) show(v float64) string {
	switch {
	case math.IsNaN(v):
		return "not measured"
	case g.times == 0:
		return amount(v, g.unit)
	case g.other == least:
		return fmt.Sprintf("%.2f× the floor", 1/v)
	}
	return times(v)
}

// writeGoals writes the table of all goals. The error names those, of the layers that were to be measured, that are about
// benchmarks which are not there.
func writeGoals(b *strings.Builder, goals []goal, sections []section, only []string) error {
	b.WriteString("## Goals\n\n| layer | workload | of what | goal | reached | |\n|---|---|---|---|---|---|\n")
	var missing []error
	for _, g := range goals {
		got, err := g.reached(sections)
		if err != nil && slices.Contains(only, g.layer) {
			missing = append(missing, err)
		}
		verdict, want := "met", g.most
		if g.times > 0 {
			want = g.times
		}
		if math.IsNaN(got) {
			verdict = ""
		} else if !g.met(got) {
			verdict = "**missed**"
		}
		limit := "at least "
		if g.times == 0 || g.other == least {
			limit = "at most "
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s%s | %s | %s |\n", g.layer, rowNameOf(g.workload, g.impl), meaning(g.unit), limit, g.show(want), g.show(got), verdict)
	}
	b.WriteString("\n")
	return errors.Join(missing...)
}

// meaning names a unit in the goals' table.
func meaning(unit string) string {
	if unit == seconds {
		return "time"
	}
	return unit
}
