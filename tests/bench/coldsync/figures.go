package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// figure is one of those of a result.
type figure struct {
	name string
	unit string // as in benchmark results, for benchstat
	of   func(r result) float64
	show func(value float64) string
}

// The figures that goals are about.
const (
	wall = "wall time"
	cpu  = "CPU time"
	live = "live heap"
	peak = "peak RSS"
)

var ofSync = []figure{
	{wall, "sec/op", func(r result) float64 { return r.Wall.Seconds() }, inSeconds},
	{cpu, "cpu-sec/op", func(r result) float64 { return r.CPU.Seconds() }, inSeconds},
	{"allocated", "B/op", func(r result) float64 { return float64(r.Allocated) }, inMiB},
	{live, "live-B", func(r result) float64 { return float64(r.Live) }, inMiB},
	{peak, "peak-B", func(r result) float64 { return float64(r.Peak) }, inMiB},
}

// ofStorm are the figures of the n-th storm; NaN if there was none.
func ofStorm(n int) []figure {
	of := func(of func(s stormFigures) float64) func(r result) float64 {
		return func(r result) float64 {
			if n >= len(r.storms) {
				return math.NaN()
			}
			return of(r.storms[n])
		}
	}
	return []figure{
		{"events/s", "events/s", of(func(s stormFigures) float64 { return s.Rate }), func(v float64) string { return fmt.Sprintf("%.0f", v) }},
		{"p50", "p50-sec", of(func(s stormFigures) float64 { return s.P50.Seconds() }), inMilliseconds},
		{"p99", "p99-sec", of(func(s stormFigures) float64 { return s.P99.Seconds() }), inMilliseconds},
		{"CPU per event", "cpu-sec/event", of(func(s stormFigures) float64 { return s.CPU.Seconds() }), func(v float64) string { return fmt.Sprintf("%.0f µs", v*1e6) }},
	}
}

func inSeconds(v float64) string      { return fmt.Sprintf("%.2f s", v) }
func inMilliseconds(v float64) string { return fmt.Sprintf("%.1f ms", v*1e3) }
func inMiB(v float64) string          { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

// spread is the middle, the least and the greatest of some values.
type spread struct{ median, least, most float64 }

// spreadOf returns NaN of none.
func spreadOf(results []result, of func(r result) float64) spread {
	var values []float64
	for _, r := range results {
		if v := of(r); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	n := len(values)
	if n == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.SortFunc(values, cmp.Compare)
	return spread{(values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1]}
}

// goal is a ratio to be reached.
type goal struct {
	figure      string
	ours, other string
	most        float64
}

var goals = []goal{
	{wall, glasswatch, clientGo, 0.7},
	{cpu, glasswatch, clientGo, 0.6},
	{peak, glasswatch, clientGo, 0.6},
	{live, glasswatch, clientGo, 0.6},
	{live, glasswatchStripped, clientGoStripped, 0.35},
}

// ratio compares medians; NaN if something was not measured.
func ratio(results map[string][]result, f figure, ours, other string) float64 {
	return spreadOf(results[ours], f.of).median / spreadOf(results[other], f.of).median
}

func (g goal) ratio(results map[string][]result) float64 {
	for _, f := range ofSync {
		if f.name == g.figure {
			return ratio(results, f, g.ours, g.other)
		}
	}
	return math.NaN()
}
