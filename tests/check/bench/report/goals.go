package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"glasswatch/tests/check/bench/internal/versus"
)

// goal is how one figure of a benchmark is to compare with another implementation's.
type goal struct {
	layer    string // its folder
	workload string // the benchmark's name without the implementation
	unit     string
	impl     string
	other    string
	// times is how many times better impl must be than other, at least. 0: what counts is most.
	times float64
	most  float64
}

// goals are the floors under what simplicity may cost. The workloads are named as in the benchmarks. One that is not there any more
// makes the report fail. Those of a cold start are in ../coldsync.
var goals = slices.Concat(
	ofLayer("indexer",
		faster("GetByKey objects=10000", 0.75),
		faster("GetByForeignKey objects=10000", 0.75),
		faster("GetByKeyOnAllCoresBesideOneWriter objects=10000", 0.6),
		better("GetByKeyOnAllCoresBesideOneWriter objects=10000", "writes/s", 2),
		faster("List objects=10000", 3),
		faster("Iterate objects=10000", 7),
		faster("ByIndex100Hits objects=10000", 2),
		faster("UpdateSameIndexValues objects=10000", 2.5), allocating("UpdateSameIndexValues objects=10000", 0),
		faster("Replace objects=10000", 1.2),
		faster("WriteBesideTenListers objects=10000", 15),
		better("BytesPerObject objects=10000", held, 0.6),
	),
	ofLayer("deltafifo",
		faster("DeltaFIFO_UpdatePop depth=1", 2), faster("DeltaFIFO_UpdatePop depth=1000", 2),
		faster("InOrder_UpdatePopBatch depth=1000", 3),
	),
	ofLayer("sharedinformer",
		faster("Event source=watch-buffer-100 handlers=1", 3.5),
		faster("Event source=watch-buffer-100 handlers=10", 4),
		faster("EventOverHTTP wire=json", 1.7), faster("EventOverHTTP wire=protobuf", 1.7),
		faster("Latency quantile=p50", 1.3),
	),
	ofLayer("workqueue",
		faster("AddGetDone keys=10000", 1.4),
		faster("AddGetDone_FourProducersFourConsumers backlog=1000", 1.2),
		faster("AddAfter keys=10000 deadline=later", 1.5),
		faster("AddAfter keys=10000 deadline=sooner", 1.5),
		faster("AddAfter_DueWithinAMillisecond", 1.3),
		faster("AddRateLimited keys=10000", 1.5),
	),
	ofLayer(rivals,
		than(priorityQueue, faster("AddGetDone", 10)),
		than(statedb, faster("UpdateBatch500", 10)),
		than(statedb, faster("GetByKey", 1)),
		than(statedb, faster("Iterate", 2)),
		than(statedb, faster("ByIndex", 5)),
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

// than makes a goal one beside a rival.
func than(rival string, g goal) goal {
	g.other = rival
	return g
}

// allocating is at most so many allocations an operation.
func allocating(workload string, most float64) goal {
	return goal{workload: workload, unit: allocs, impl: ours, most: most}
}

// reached returns what the goal is about; an error with the benchmark's name if that was not measured.
func (g goal) reached(sections []section) (versus.Ratio, error) {
	for _, s := range sections {
		for _, w := range s.workloads {
			if s.layer != g.layer || w.name != g.workload {
				continue
			}
			got := versus.Amount(w.impls[g.impl][g.unit])
			if g.times > 0 {
				got = w.compare(g.impl, g.other, g.unit)
			}
			if got.Measured() {
				return got, nil
			}
		}
	}
	who := g.impl
	if g.other != "" {
		who += " and " + g.other
	}
	return versus.Compare(nil, nil, false), fmt.Errorf("a goal is about %s of %q in %s, and that was not measured with %s", g.unit, g.workload, g.layer, who)
}

// verdict is met only if the worse end of the interval meets the goal.
func (g goal) verdict(got versus.Ratio) string {
	switch {
	case !got.Measured():
		return ""
	case got.N < versus.Enough:
		return "too few runs"
	case g.times > 0 && got.Low >= g.times, g.times == 0 && got.High <= g.most:
		return "met"
	}
	return "**missed**"
}

// show writes a figure of the goal that is reached.
func (g goal) show(got versus.Ratio) string {
	switch {
	case !got.Measured():
		return "not measured"
	case g.times == 0:
		return amount(got.Center, g.unit)
	}
	return got.String()
}

// want writes the goal.
func (g goal) want() string {
	if g.times == 0 {
		return "at most " + amount(g.most, g.unit)
	}
	return "at least " + versus.Times(g.times)
}

// row names what the goal is about.
func (g goal) row() string {
	if g.other != "" && g.other != theirs {
		return g.workload + ", beside " + g.other
	}
	return rowNameOf(g.workload, g.impl)
}

const goalsIntro = `# Benchmarks: the goals

Made by ` + "`make goals`" + `; do not edit. [README.md](README.md) says how it is measured. A goal
is met if the lower end of the interval meets it.

`

// goalsPage returns the table of all goals. The error names those, of the layers that were to be measured, that are about benchmarks
// which are not there.
func goalsPage(goals []goal, sections []section, only []string, when time.Time) (string, error) {
	var b strings.Builder
	b.WriteString(goalsIntro)
	fmt.Fprintf(&b, "The last run was on %s.\n\n", when.Format(time.DateOnly))
	for _, s := range sections {
		fmt.Fprintf(&b, "- %s: measured on %s.\n", s.layer, s.machine)
	}
	b.WriteString("\n| layer | workload | of what | goal | reached | |\n|---|---|---|---|---|---|\n")
	var missing []error
	for _, g := range goals {
		got, err := g.reached(sections)
		if err != nil && slices.Contains(only, g.layer) {
			missing = append(missing, err)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", g.layer, g.row(), meaning(g.unit), g.want(), g.show(got), g.verdict(got))
	}
	return b.String(), errors.Join(missing...)
}

// isGoal reports whether a goal is about that benchmark.
func isGoal(layer, benchmark string) bool {
	workload, impl, ok := implOf(strings.TrimPrefix(benchmark, "Benchmark"))
	return ok && slices.ContainsFunc(goals, func(g goal) bool {
		return g.layer == layer && g.workload == workload && (impl == g.impl || impl == g.other)
	})
}

// meaning names a unit in the goals' table.
func meaning(unit string) string {
	if unit == seconds {
		return "time"
	}
	return unit
}
