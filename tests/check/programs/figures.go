package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// figure is a column of the page.
type figure struct {
	name string
	unit string // in programs.txt
	of   func(result) float64
	show func(float64) string
}

const mib = 1 << 20

func seconds(v float64) string   { return fmt.Sprintf("%.2f s", v) }
func mebibytes(v float64) string { return fmt.Sprintf("%.0f MiB", v) }
func plain(v float64) string     { return fmt.Sprintf("%.0f", v) }

var (
	ready = figure{"ready", "ready-s", func(r result) float64 { return r.Look.LastSync.Seconds() }, seconds}
	cpu   = figure{"CPU", "cpu-s", func(r result) float64 { return r.Look.CPU.Seconds() }, seconds}
	live  = figure{"live heap", "live-B", func(r result) float64 { return float64(r.Live) / mib }, mebibytes}
	rss   = figure{"RSS", "rss-B", func(r result) float64 { return float64(r.Look.RSS) / mib }, mebibytes}
)

// ofStanding are the figures of a program on a standing load.
var ofStanding = []figure{
	ready, cpu, live, rss,
	{"peak RSS", "peak-B", func(r result) float64 { return float64(r.Look.PeakRSS) / mib }, mebibytes},
	{"lists and gets", "reads", func(r result) float64 { return float64(r.Look.Reads) }, plain},
	{"watches", "watches", func(r result) float64 { return float64(r.Look.Watches) }, plain},
	{"writes", "writes", func(r result) float64 { return float64(r.Look.Writes) }, plain},
	{"bytes received", "received-B", func(r result) float64 { return float64(r.ToHere) / mib },
		func(v float64) string { return fmt.Sprintf("%.1f MiB", v) }},
}

// ofStory are the figures of a program at a story's end, but for the times.
var ofStory = append([]figure{}, ofStanding[1:]...)

func ofSteps() (figures []figure) {
	for _, step := range steps {
		figures = append(figures, figure{step, step + "-s", func(r result) float64 {
			if v, ok := r.Seconds[step]; ok {
				return v
			}
			return math.NaN()
		}, seconds})
	}
	return figures
}

// spread is a median with the least and the greatest value.
type spread struct {
	median, least, most float64
	n                   int
}

func spreadOf(values []float64) spread {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(values) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN(), 0}
	}
	slices.Sort(values)
	n := len(values)
	return spread{(values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1], n}
}

func (s spread) show(show func(float64) string) string {
	if s.n == 0 {
		return "–"
	}
	if s.n == 1 {
		return show(s.median)
	}
	return fmt.Sprintf("%s (%s to %s)", show(s.median), show(s.least), show(s.most))
}

// values are those of one side, by round.
func (c *campaign) values(program, work string, of side, f figure) map[int]float64 {
	values := map[int]float64{}
	for _, r := range c.results {
		if r.Program == program && r.Work == work && r.Side == of {
			values[r.Round] = f.of(r)
		}
	}
	return values
}

func (c *campaign) spread(program, work string, of side, f figure) spread {
	var values []float64
	for _, v := range c.values(program, work, of, f) {
		values = append(values, v)
	}
	return spreadOf(values)
}

// ratio divides by client-go's value of the same round, so that what a round's weather does to both falls out.
func (c *campaign) ratio(program, work string, of side, f figure) spread {
	var ratios []float64
	base := c.values(program, work, clientGo, f)
	for round, v := range c.values(program, work, of, f) {
		if b, ok := base[round]; ok && b != 0 {
			ratios = append(ratios, v/b)
		}
	}
	return spreadOf(ratios)
}

// inCommon is the number of rounds in which both a side and client-go were measured.
func (c *campaign) inCommon(program, work string, of side) (n int) {
	base := c.values(program, work, clientGo, ready)
	for round := range c.values(program, work, of, ready) {
		if _, ok := base[round]; ok {
			n++
		}
	}
	return n
}

// above compares a figure with client-go's in the rounds that both have, and says whether it is greater in all of them.
// A ratio would leave out the rounds in which client-go's is 0.
func (c *campaign) above(program, work string, of side, f figure) (base, ours spread, always bool) {
	var bases, values []float64
	theirs := c.values(program, work, clientGo, f)
	always = true
	for round, v := range c.values(program, work, of, f) {
		b, ok := theirs[round]
		if !ok || math.IsNaN(v) || math.IsNaN(b) {
			continue
		}
		bases, values = append(bases, b), append(values, v)
		always = always && v > b
	}
	return spreadOf(bases), spreadOf(values), always && len(values) > 0
}

func times(v float64) string { return fmt.Sprintf("%.2f×", v) }

// goal is a ratio to client-go that is not to be passed.
type goal struct {
	of      side
	program string
	work    string // of the flag
	figure  figure
	most    float64
}

var goals = []goal{
	{shared, manager, "many", live, 0.40}, {shared, manager, "many", rss, 0.55}, {shared, manager, "many", cpu, 0.55},
	{shared, manager, "few", live, 0.45}, {shared, manager, "few", rss, 0.60}, {shared, manager, "few", cpu, 0.65},
	{unshared, manager, "many", live, 1}, {unshared, manager, "many", rss, 1}, {unshared, manager, "many", cpu, 1},
	{unshared, manager, "few", live, 1}, {unshared, manager, "few", rss, 1}, {unshared, manager, "few", cpu, 1},
	{shared, manager, "varied", live, 1}, {shared, manager, "varied", rss, 1}, {shared, manager, "varied", cpu, 1},
	{shared, scheduler, "many", live, 1}, {shared, scheduler, "many", rss, 1}, {shared, scheduler, "many", cpu, 1},
}

// verdictOn says what became of the goal for a figure, if there is one.
func verdictOn(s spread, program string, w work, of side, f figure) string {
	for _, g := range goals {
		if g.of == of && g.program == program && g.work == w.name && g.figure.name == f.name {
			return fmt.Sprintf("; at most %s: %s", times(g.most), verdict(s, g.most))
		}
	}
	return ""
}

// verdict compares a spread with the most that a goal allows.
func verdict(s spread, most float64) string {
	switch {
	case s.n == 0:
		return "not measured"
	case s.most <= most:
		return "met"
	case s.median <= most:
		return "met by the median only"
	}
	return "**missed**"
}

// check says whether the program ran on the informers that it was to run on.
func (l look) check(of side) error {
	switch made := l.made(); {
	case made == 0:
		return fmt.Errorf("the hook made no informer")
	case l.Synced < made:
		return fmt.Errorf("%d informers were made (%v), and %d have synced after %s", made, l.Ways, l.Synced,
			l.Since.Round(time.Second))
	case of == clientGo && l.Ways[string(clientGo)] < made:
		return fmt.Errorf("not all informers are client-go's: %v", l.Ways)
	case of != clientGo && (l.Ways[string(clientGo)] > 0 || l.ClientGoReflectors > 0):
		return fmt.Errorf("client-go's informers or reflectors are in a program on %s: %v, %d reflectors", of, l.Ways,
			l.ClientGoReflectors)
	}
	return nil
}
