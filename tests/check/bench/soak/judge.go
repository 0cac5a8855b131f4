package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"time"
)

// point is a value at a time, in seconds.
type point struct{ at, value float64 }

// slope is the Theil–Sen estimator: the median of the slopes between any two points. Unlike least squares, it is robust
// against a single bad sample, of a relist or a busy machine.
func slope(points []point) float64 {
	var slopes []float64
	for i, a := range points {
		for _, b := range points[i+1:] {
			slopes = append(slopes, (b.value-a.value)/(b.at-a.at))
		}
	}
	return median(slopes)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.SortFunc(values, cmp.Compare)
	return values[len(values)/2]
}

// growth is by how much the line through the points rises from the first to the last of them, beside their median.
func growth(points []point) (rise, middle float64) {
	if len(points) < 2 {
		return 0, 0
	}
	var values []float64
	for _, p := range points {
		values = append(values, p.value)
	}
	return slope(points) * (points[len(points)-1].at - points[0].at), median(values)
}

// series is one of those that must be flat.
type series struct {
	name  string
	of    func(s sample) (value float64, ok bool)
	least float64 // growth below this is noise
	show  func(value float64) string
}

// most is the part of the median by which a series may grow over the second half.
const most = 0.1

var flat = []series{
	{"the heap after a garbage collection", func(s sample) (float64, bool) { return float64(s.Live), s.Live > 0 }, 8 << 20, mebibytes},
	{"the number of goroutines", func(s sample) (float64, bool) { return float64(s.Goroutines), true }, 10, func(v float64) string { return fmt.Sprintf("%.0f", v) }},
	{"the lag", func(s sample) (float64, bool) { return s.LagHalf.Seconds(), s.Delivered > 0 }, 1, func(v float64) string { return fmt.Sprintf("%.2f s", v) }},
}

// windows is the number of pieces of the second half. The least value of each counts, for some memory is temporary,
// such as the old objects while a list replaces them.
const windows = 8

func lows(points []point) []point {
	var least []point
	for n := range windows {
		window := points[n*len(points)/windows : (n+1)*len(points)/windows]
		if len(window) > 0 {
			least = append(least, slices.MinFunc(window, func(a, b point) int { return cmp.Compare(a.value, b.value) }))
		}
	}
	return least
}

// enough is how many values a series must have in the second half to be judged.
const enough = 5

// judge returns what is wrong with the second half of the samples; the first is for warming up.
func judge(samples []sample, objects int) (complaints []string) {
	half := samples[len(samples)/2:]
	for _, line := range flat {
		var points []point
		for _, s := range half {
			if value, ok := line.of(s); ok {
				points = append(points, point{s.At.Seconds(), value})
			}
		}
		if len(points) < enough {
			complaints = append(complaints, fmt.Sprintf("%s was measured %d times in the second half, want at least %d", line.name, len(points), enough))
			continue
		}
		rise, middle := growth(lows(points))
		if limit := max(most*middle, line.least); rise > limit {
			complaints = append(complaints, fmt.Sprintf("%s grows: by %s over the second half, about %s; want at most %s", line.name, line.show(rise), line.show(middle), line.show(limit)))
		}
	}
	for _, s := range samples {
		if s.Backlog > objects+1 { // one more is in the handler
			complaints = append(complaints, fmt.Sprintf("%d changes wait for the handler that folds, at %s; want at most one for each of %d objects", s.Backlog, s.At.Round(time.Second), objects))
			break
		}
	}
	return complaints
}

// judgeLeft waits until there are no more goroutines than before; the others are shown on standard error.
func judgeLeft(before int) []string {
	deadline := time.Now().Add(time.Minute)
	for goroutines() > before {
		if time.Now().After(deadline) {
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			return []string{fmt.Sprintf("%d goroutines are left, and there were %d before", goroutines(), before)}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}
