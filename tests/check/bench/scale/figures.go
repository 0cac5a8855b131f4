package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// figure is one of those of a result.
type figure struct {
	name string
	unit string // as in benchmark results, for benchstat
	of   func(r result) float64
	show func(value float64) string
}

// sum and most add up what the processes of a setup have, and find the one that has most.
func (r result) sum(of func(m memberResult) float64) (sum float64) {
	for _, m := range r.members {
		sum += of(m)
	}
	return sum
}

func (r result) most(of func(m memberResult) float64) (most float64) {
	for _, m := range r.members {
		most = max(most, of(m))
	}
	return most
}

// wall is the time until the last process has synced.
func (r result) wall() time.Duration { return time.Duration(r.most(wall)) }

func wall(m memberResult) float64        { return float64(m.Sync.Wall) }
func syncCPU(m memberResult) float64     { return m.Sync.CPU.Seconds() }
func syncBytes(m memberResult) float64   { return float64(m.Sync.Bytes) }
func live(m memberResult) float64        { return float64(m.Held.Live) }
func resident(m memberResult) float64    { return float64(m.Resident) }
func peak(m memberResult) float64        { return float64(m.Peak) }
func foreign(m memberResult) float64     { return float64(m.Foreign) }
func steadyBytes(m memberResult) float64 { return float64(m.SteadyBytes) / m.Steady.Seconds() }
func halfLate(m memberResult) float64    { return m.P50.Seconds() }
func mostLate(m memberResult) float64    { return m.P99.Seconds() }

// busy is how much of a core a process needs for the changes.
func busy(m memberResult) float64 { return m.SteadyCPU.Seconds() / m.Steady.Seconds() }

func changes(r result) float64    { return float64(r.server.Changes) / r.server.Steady.Seconds() }
func serverBusy(r result) float64 { return r.server.SteadyCPU.Seconds() / r.server.Steady.Seconds() }

func sumOf(of func(m memberResult) float64) func(r result) float64 {
	return func(r result) float64 { return r.sum(of) }
}

func mostOf(of func(m memberResult) float64) func(r result) float64 {
	return func(r result) float64 { return r.most(of) }
}

// eachOf is what there is of something for each object that the processes hold.
func eachOf(of func(m memberResult) float64) func(r result) float64 {
	return func(r result) float64 {
		return r.sum(of) / r.sum(func(m memberResult) float64 { return float64(m.Held.Objects) })
	}
}

var ofSync = []figure{
	{"time to sync", "sec/op", func(r result) float64 { return r.wall().Seconds() }, inWholeSeconds},
	{"CPU of the processes", "cpu-sec/op", sumOf(syncCPU), inSeconds},
	{"CPU of the server", "server-cpu-sec/op", func(r result) float64 { return r.server.SyncCPU.Seconds() }, inSeconds},
	{"bytes of the largest", "wire-B/member", mostOf(syncBytes), inMiB},
	{"of all", "wire-B", sumOf(syncBytes), inMiB},
}

var ofMemory = []figure{
	{"live heap of all", "live-B", sumOf(live), inMiB},
	{"of the largest", "live-B/member", mostOf(live), inMiB},
	{"an object", "live-B/object", eachOf(live), inBytes},
	{"RSS of all", "rss-B", sumOf(resident), inMiB},
	{"of the largest", "rss-B/member", mostOf(resident), inMiB},
	{"an object", "rss-B/object", eachOf(resident), inBytes},
	{"peak RSS of all", "peak-B", sumOf(peak), inMiB},
}

var ofChanges = []figure{
	{"changes a second", "changes/s", changes, plain},
	{"CPU of the processes", "cores", sumOf(busy), inCores},
	{"CPU of the server", "server-cores", serverBusy, inCores},
	{"bytes a second of the largest", "wire-B/s/member", mostOf(steadyBytes), inKiB},
	{"of all", "wire-B/s", sumOf(steadyBytes), inKiB},
	{"delay, median", "p50-sec", mostOf(halfLate), inMilliseconds},
	{"99th percentile", "p99-sec", mostOf(mostLate), inMilliseconds},
	{"dropped by the processes", "foreign", sumOf(foreign), plain},
}

func inSeconds(v float64) string      { return fmt.Sprintf("%.1f s", v) }
func inWholeSeconds(v float64) string { return fmt.Sprintf("%.0f s", v) }
func inMilliseconds(v float64) string { return fmt.Sprintf("%.1f ms", v*1e3) }
func inMiB(v float64) string          { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }
func inKiB(v float64) string          { return fmt.Sprintf("%.0f KiB", v/(1<<10)) }
func inBytes(v float64) string        { return fmt.Sprintf("%.0f B", v) }
func inCores(v float64) string        { return fmt.Sprintf("%.2f cores", v) }
func plain(v float64) string          { return fmt.Sprintf("%.0f", v) }
func times(v float64) string          { return fmt.Sprintf("%.3f×", v) }

// median is the middle of what was measured of a setup, or NaN.
func median(results []result, setup string, of func(r result) float64) float64 {
	values := valuesOf(results, setup, of)
	if len(values) == 0 {
		return math.NaN()
	}
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// valuesOf are sorted.
func valuesOf(results []result, setup string, of func(r result) float64) (values []float64) {
	for _, r := range results {
		if r.setup.name == setup {
			values = append(values, of(r))
		}
	}
	slices.Sort(values)
	return values
}

// goal is a figure that must not be above a limit. Without one it stands beside the others, to be compared.
type goal struct {
	what  string
	limit float64 // 0: none
	of    func(results []result) float64
	show  func(v float64) string
	note  string // what a goal that is met does not say
}

// limitText is the limit in as few digits as it takes.
func (g goal) limitText() string {
	if g.limit == 0 {
		return "–"
	}
	text := g.show(g.limit)
	if number, ok := strings.CutSuffix(text, "×"); ok {
		return strings.TrimRight(number, "0") + "×"
	}
	return text
}

func ratio(of func(r result) float64, setup string) func(results []result) float64 {
	return func(results []result) float64 { return median(results, setup, of) / median(results, one, of) }
}

// ofOne divides the largest process of a setup by the one that has everything.
func ofOne(of func(m memberResult) float64, setup string) func(results []result) float64 {
	return ratio(mostOf(of), setup)
}

var goals = append([]goal{
	{"live heap of one process, an object, above the object's own", 350, aboveOwn(one, decodedShared), inBytes, ""},
	{"the same of client-go", 0, aboveOwn(theirOne, decoded), inBytes, ""},
}, append(goalsOf(five, "five shards"), goalsOf(fiveOff, "five shards, server without")...)...)

// exact says that the members of package shards are given less even shares. docs/results/scale.md has the distribution.
const exact = " with exact fifths; with 256 shards dealt by Assign the largest of five has 0.233 on average"

func goalsOf(setup, title string) []goal {
	return []goal{
		{title + ": live heap of all, of what one process holds", 1.3, ratio(sumOf(live), setup), times, ""},
		{title + ": live heap of the largest", 0.26, ofOne(live, setup), times, ""},
		{title + ": bytes of the largest, to sync", 0.22, ofOne(syncBytes, setup), times, exact},
		{title + ": bytes of the largest, of the changes", 0.22, ofOne(steadyBytes, setup), times, exact},
	}
}

// aboveOwn is how much more of the heap an object takes in a setup than the object itself does.
func aboveOwn(setup, own string) func(results []result) float64 {
	return func(results []result) float64 {
		return median(results, setup, eachOf(live)) - median(results, own, eachOf(live))
	}
}
