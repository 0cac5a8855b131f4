package main

import (
	"fmt"
	"math"

	"golang.org/x/perf/benchmath"
)

const (
	// confidence and enough are benchstat's and its advice.
	confidence = 0.95
	enough     = 10
)

// comparison is how many times better one implementation is than another.
type comparison struct {
	center, low, high float64
	p                 float64 // of a difference that is only chance
	n                 int     // runs, of the one that has fewer
}

// compare divides b by a, or a by b if more is better. The interval is that of benchstat for each, at their worst and at their best.
func compare(a, b *benchmath.Sample, moreIsBetter bool) comparison {
	if a == nil || b == nil {
		return comparison{center: math.NaN(), low: math.NaN(), high: math.NaN(), p: 1}
	}
	c := comparison{p: benchmath.AssumeNothing.Compare(a, b).P, n: min(len(a.Values), len(b.Values))}
	if moreIsBetter {
		a, b = b, a
	}
	mine := benchmath.AssumeNothing.Summary(a, confidence)
	other := benchmath.AssumeNothing.Summary(b, confidence)
	c.center = divide(other.Center, mine.Center)
	c.low, c.high = divide(other.Lo, mine.Hi), divide(other.Hi, mine.Lo)
	return c
}

// amountOf is a figure of its own with its interval, as a comparison with nothing.
func amountOf(a *benchmath.Sample) comparison {
	if a == nil {
		return compare(nil, nil, false)
	}
	s := benchmath.AssumeNothing.Summary(a, confidence)
	return comparison{s.Center, s.Lo, s.Hi, 0, len(a.Values)}
}

// divide takes nothing of nothing as equal.
func divide(a, b float64) float64 {
	if a == b {
		return 1
	}
	return a / b
}

func (c comparison) measured() bool { return !math.IsNaN(c.center) }

// differs reports whether the runs tell the two apart.
func (c comparison) differs() bool {
	return c.measured() && c.p <= benchmath.DefaultThresholds.CompareAlpha
}

// String is the ratio with its interval, "~" instead of a ratio where the runs do not tell the two apart.
func (c comparison) String() string {
	switch {
	case !c.measured():
		return "–"
	case c.n < enough:
		return fmt.Sprintf("n = %d", c.n)
	case !c.differs():
		return fmt.Sprintf("~ (%s–%s)", short(c.low), short(c.high))
	case c.low == c.high:
		return times(c.center)
	}
	return fmt.Sprintf("%s (%s–%s)", times(c.center), short(c.low), short(c.high))
}

// bold sets a loss in bold.
func (c comparison) bold() string {
	if c.n >= enough && c.differs() && c.center < 1 {
		return "**" + c.String() + "**"
	}
	return c.String()
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
