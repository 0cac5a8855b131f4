package main

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"glasswatch/tests/check/bench/internal/versus"
)

// chart draws, for each workload, how many times better ours is: bars to the right of the line at 1 are wins.
func chart(s section, file string) error {
	var names []string
	var wins, losses plotter.Values
	for _, b := range slices.Backward(s.bars()) {
		names = append(names, b.name)
		// The axis is logarithmic: half as fast is as far from the line as twice as fast.
		length := math.Log2(b.ratio)
		wins, losses = append(wins, max(length, 0)), append(losses, min(length, 0))
	}
	if len(names) == 0 {
		return nil
	}
	p := plot.New()
	p.Title.Text = s.layer + ": times better than client-go"
	for _, part := range []struct {
		values plotter.Values
		color  color.Color
	}{{wins, color.RGBA{R: 0x2b, G: 0x8a, B: 0x5a, A: 0xff}}, {losses, color.RGBA{R: 0xc0, G: 0x3a, B: 0x2b, A: 0xff}}} {
		bars, err := plotter.NewBarChart(part.values, vg.Points(11))
		if err != nil {
			return err
		}
		bars.Horizontal, bars.Color, bars.LineStyle.Width = true, part.color, 0
		p.Add(bars)
	}
	p.NominalY(names...)
	p.X.Tick.Marker = plot.TickerFunc(powersOfTwo)
	p.Add(plotter.NewGrid())
	return p.Save(9*vg.Inch, vg.Length(len(names)+4)*0.24*vg.Inch, file)
}

func powersOfTwo(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	step := max(1, math.Ceil((high-low)/10))
	for at := math.Floor(low/step) * step; at <= high; at += step {
		ticks = append(ticks, plot.Tick{Value: at, Label: versus.Times(math.Exp2(at))})
	}
	return ticks
}
