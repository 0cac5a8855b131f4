package main

import (
	"math"
	"os"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"glasswatch/tests/check/bench/internal/versus"
)

const (
	ours   = "glasswatch"
	theirs = "client-go"
	least  = "floor"
	facade = "compat"
)

// section is what was measured of one layer.
type section struct {
	layer     string
	machine   string
	workloads []workload
}

// workload is one benchmark, played to several implementations.
type workload struct {
	name string
	// impls has, for each implementation and unit, all runs.
	impls map[string]map[string]*benchmath.Sample
}

// compare is how many times better impl is than other. Its center is NaN if one of them was not measured.
func (w workload) compare(impl, other, unit string) versus.Ratio {
	return versus.Compare(w.impls[impl][unit], w.impls[other][unit], strings.HasSuffix(unit, "/s"))
}

// ratio is the center of that comparison.
func (w workload) ratio(impl, other, unit string) float64 { return w.compare(impl, other, unit).Center }

// timed: of who says what is held, the time is only that of asking.
func (w workload) timed() bool {
	for _, units := range w.impls {
		if _, ok := units[held]; ok {
			return false
		}
	}
	return true
}

// told reports whether the time of impl beside client-go's is printed. A percentile of latencies is not if the runs do not tell the two
// apart.
func (w workload) told(impl string) bool {
	return !strings.Contains(w.name, "quantile=") || w.compare(impl, theirs, seconds).Differs()
}

// beaten reports whether an implementation is faster than impl=floor. Then that is no floor, only a bare program.
func (w workload) beaten() bool {
	for impl := range w.impls {
		if c := w.compare(impl, least, seconds); impl != least && c.Differs() && c.Center > 1 {
			return true
		}
	}
	return false
}

// others are the units in which something is reported beside time and allocations.
func (w workload) others() []string {
	var units []string
	for _, impl := range w.variants() {
		for unit := range w.impls[impl] {
			if !slices.Contains(units, unit) {
				units = append(units, unit)
			}
		}
	}
	units = slices.DeleteFunc(units, func(u string) bool { return slices.Contains([]string{seconds, allocs, bytes, speed}, u) })
	slices.Sort(units)
	return units
}

// charted reports whether there is anything that client-go did as well.
func (s section) charted() bool { return len(s.bars()) > 0 }

// bar is one workload of a chart.
type bar struct {
	name  string
	ratio float64 // times better
}

func (s section) bars() (bars []bar) {
	add := func(name string, ratio float64) {
		if !math.IsNaN(ratio) && !math.IsInf(ratio, 0) && ratio > 0 {
			bars = append(bars, bar{name, ratio})
		}
	}
	for _, w := range s.workloads {
		for _, impl := range w.variants() {
			if w.timed() && w.told(impl) {
				add(rowName(w, impl), w.ratio(impl, theirs, seconds))
			}
			for _, unit := range w.others() {
				add(rowName(w, impl)+", "+unit, w.ratio(impl, theirs, unit))
			}
		}
	}
	return bars
}

// variants are our implementations that were measured, the plain one first. What else a benchmark compares itself with is in
// the raw figures only.
func (w workload) variants() []string {
	return slices.DeleteFunc([]string{ours, "folding", "sharing", "warm", "compat"}, func(impl string) bool { return w.impls[impl] == nil })
}

// read takes the raw figures of a layer. Workloads keep the order in which they were measured.
func read(layer, file string) (section, error) {
	f, err := os.Open(file)
	if err != nil {
		return section{}, err
	}
	defer f.Close()
	s := section{layer: layer}
	samples := map[string]map[string]map[string][]float64{} // workload, implementation, unit
	reader := benchfmt.NewReader(f, file)
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		s.machine = result.GetConfig("cpu")
		name, impl, ok := implOf(string(result.Name.Full()))
		if !ok {
			continue
		}
		if samples[name] == nil {
			samples[name] = map[string]map[string][]float64{}
			s.workloads = append(s.workloads, workload{name: name})
		}
		if samples[name][impl] == nil {
			samples[name][impl] = map[string][]float64{}
		}
		for _, v := range result.Values {
			samples[name][impl][v.Unit] = append(samples[name][impl][v.Unit], v.Value)
		}
	}
	for i, w := range s.workloads {
		s.workloads[i].impls = map[string]map[string]*benchmath.Sample{}
		for impl, units := range samples[w.name] {
			s.workloads[i].impls[impl] = map[string]*benchmath.Sample{}
			for unit, values := range units {
				s.workloads[i].impls[impl][unit] = benchmath.NewSample(values, &benchmath.DefaultThresholds)
			}
		}
	}
	return s, reader.Err()
}

// implOf takes the implementation and the number of processors out of a benchmark's name.
func implOf(full string) (name, impl string, ok bool) {
	if cut := strings.LastIndexByte(full, '-'); cut > 0 && strings.Trim(full[cut+1:], "0123456789") == "" {
		full = full[:cut]
	}
	var rest []string
	for _, part := range strings.Split(full, "/") {
		if value, found := strings.CutPrefix(part, "impl="); found {
			impl, ok = value, true
		} else {
			rest = append(rest, part)
		}
	}
	return strings.Join(rest, " "), impl, ok
}
