// Package versus compares what was measured of two implementations, with benchstat's library: how many times better is one?
package versus

import (
	"fmt"
	"math"

	"golang.org/x/perf/benchmath"
)

const (
	confidence = 0.95 // benchstat's
	// Enough is how many runs of each it takes for an interval to be printed.
	Enough = 10
)

// Ratio is how many times better one implementation is than another. Its Center is NaN if one was not measured.
type Ratio struct {
	Center, Low, High float64
	P                 float64 // of a difference that is only chance
	N                 int     // runs, of the one that has fewer
}

// Compare divides b by a, or a by b if more is better. The interval is that of benchstat for each, at their worst and at their best.
func Compare(a, b *benchmath.Sample, moreIsBetter bool) Ratio {
	if a == nil || b == nil {
		return Ratio{Center: math.NaN(), Low: math.NaN(), High: math.NaN(), P: 1}
	}
	c := Ratio{P: benchmath.AssumeNothing.Compare(a, b).P, N: min(len(a.Values), len(b.Values))}
	if moreIsBetter {
		a, b = b, a
	}
	mine := benchmath.AssumeNothing.Summary(a, confidence)
	other := benchmath.AssumeNothing.Summary(b, confidence)
	c.Center = divide(other.Center, mine.Center)
	c.Low, c.High = divide(other.Lo, mine.Hi), divide(other.Hi, mine.Lo)
	return c
}

// Amount is a figure of its own with its interval, as a comparison with nothing.
func Amount(a *benchmath.Sample) Ratio {
	if a == nil {
		return Compare(nil, nil, false)
	}
	s := benchmath.AssumeNothing.Summary(a, confidence)
	return Ratio{s.Center, s.Lo, s.Hi, 0, len(a.Values)}
}

// divide takes nothing of nothing as equal.
func divide(a, b float64) float64 {
	if a == b {
		return 1
	}
	return a / b
}

// Measured reports whether there were runs of both.
func (c Ratio) Measured() bool { return !math.IsNaN(c.Center) }

// Differs reports whether the runs tell the two apart.
func (c Ratio) Differs() bool {
	return c.Measured() && c.P <= benchmath.DefaultThresholds.CompareAlpha
}

// String is the ratio with its interval, "~" instead of a ratio where the runs do not tell the two apart.
func (c Ratio) String() string {
	switch {
	case !c.Measured():
		return "–"
	case c.N < Enough:
		return fmt.Sprintf("n = %d", c.N)
	case !c.Differs():
		return fmt.Sprintf("~ (%s–%s)", short(c.Low), short(c.High))
	case c.Low == c.High:
		return Times(c.Center)
	}
	return fmt.Sprintf("%s (%s–%s)", Times(c.Center), short(c.Low), short(c.High))
}

// Bold sets a loss in bold.
func (c Ratio) Bold() string {
	if c.N >= Enough && c.Differs() && c.Center < 1 {
		return "**" + c.String() + "**"
	}
	return c.String()
}

// Times writes a ratio.
func Times(ratio float64) string {
	switch {
	case math.IsNaN(ratio):
		return "–"
	case ratio < 1:
		return fmt.Sprintf("%.2f×", ratio)
	case ratio < 10:
		return fmt.Sprintf("%.1f×", ratio)
	case math.IsInf(ratio, 1):
		return "∞"
	}
	return fmt.Sprintf("%.0f×", ratio)
}

func short(ratio float64) string {
	switch {
	case math.IsInf(ratio, 0):
		return "∞"
	case ratio < 10:
		return fmt.Sprintf("%.2f", ratio)
	}
	return fmt.Sprintf("%.0f", ratio)
}
