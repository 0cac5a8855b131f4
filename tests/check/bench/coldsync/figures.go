package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"glasswatch/tests/check/bench/internal/versus"
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

// goal is how many times better than other ours is to be.
type goal struct {
	figure      string
	ours, other string
	least       float64
}

// goals are the floors under what simplicity may cost.
var goals = []goal{
	{wall, glasswatch, clientGo, 1.4},
	{cpu, glasswatch, clientGo, 1.6},
	{live, glasswatch, clientGo, 1.6},
}

// compare says how many times better ours is than other.
func compare(results map[string][]result, f figure, ours, other string) versus.Ratio {
	return versus.Compare(sampleOf(results[ours], f), sampleOf(results[other], f), strings.HasSuffix(f.unit, "/s"))
}

// sampleOf is nil if the figure was not measured.
func sampleOf(results []result, f figure) *benchmath.Sample {
	var values []float64
	for _, r := range results {
		if v := f.of(r); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil
	}
	return benchmath.NewSample(values, &benchmath.DefaultThresholds)
}

func (g goal) reached(results map[string][]result) versus.Ratio {
	for _, f := range ofSync {
		if f.name == g.figure {
			return compare(results, f, g.ours, g.other)
		}
	}
	return versus.Compare(nil, nil, false)
}
