package main

import (
	"encoding/csv"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// column is one of samples.csv; those with a picture are drawn in it.
type column struct {
	name    string
	picture string
	value   func(s sample) float64
}

var columns = []column{
	{"seconds", "", func(s sample) float64 { return s.At.Seconds() }},
	{"heap in use, MiB", "heap", func(s sample) float64 { return float64(s.Heap) / (1 << 20) }},
	{"live after a collection, MiB", "heap", func(s sample) float64 { return float64(s.Live) / (1 << 20) }},
	{"goroutines", "goroutines", func(s sample) float64 { return float64(s.Goroutines) }},
	{"changes/s", "rate", func(s sample) float64 { return s.Rate }},
	{"lag p50, ms", "lag", func(s sample) float64 { return milliseconds(s.LagHalf) }},
	{"lag p99, ms", "lag", func(s sample) float64 { return milliseconds(s.LagMost) }},
	{"waiting in the workqueue", "waiting", func(s sample) float64 { return float64(s.Queue) }},
	{"waiting for the slow handler", "waiting", func(s sample) float64 { return float64(s.Backlog) }},
	{"waiting for the store", "waiting", func(s sample) float64 { return float64(s.Incoming) }},
	{"delivered", "", func(s sample) float64 { return float64(s.Delivered) }},
	{"changes", "", func(s sample) float64 { return float64(s.Changes) }},
	{"refused", "", func(s sample) float64 { return float64(s.Refused) }},
	{"faults", "", func(s sample) float64 { return float64(s.Faults) }},
	{"restarts", "", func(s sample) float64 { return float64(s.Restarts) }},
	{"resumed", "", func(s sample) float64 { return float64(s.Resumed) }},
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// writeAll leaves the samples and their pictures in folder.
func writeAll(folder string, samples []sample) error {
	if err := writeTable(filepath.Join(folder, "samples.csv"), samples); err != nil {
		return err
	}
	for _, picture := range []string{"heap", "goroutines", "rate", "lag", "waiting"} {
		if err := draw(picture, filepath.Join(folder, picture+".svg"), samples); err != nil {
			return fmt.Errorf("%s: %w", picture, err)
		}
	}
	return nil
}

func writeTable(file string, samples []sample) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	_ = w.Write(names) // the error stays till Flush
	for _, s := range samples {
		var values []string
		for _, c := range columns {
			values = append(values, fmt.Sprintf("%.10g", c.value(s)))
		}
		_ = w.Write(values)
	}
	w.Flush()
	if err := w.Error(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

var colors = []color.Color{color.RGBA{R: 0x2b, G: 0x8a, B: 0x5a, A: 0xff}, color.RGBA{R: 0xc0, G: 0x3a, B: 0x2b, A: 0xff}, color.RGBA{R: 0x2b, G: 0x5a, B: 0x9a, A: 0xff}}

func draw(picture, file string, samples []sample) error {
	p := plot.New()
	p.Title.Text = picture
	p.X.Label.Text = "seconds"
	p.Y.Min = 0
	p.Legend.Top = true
	drawn := 0
	for _, c := range columns {
		if c.picture != picture {
			continue
		}
		var points plotter.XYs
		for _, s := range samples {
			if value := c.value(s); value > 0 || c.picture != "heap" { // not every sample has been collected
				points = append(points, plotter.XY{X: s.At.Seconds(), Y: value})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color = colors[drawn]
		drawn++
		p.Add(line)
		p.Legend.Add(c.name, line)
	}
	p.Add(plotter.NewGrid())
	return p.Save(10*vg.Inch, 4*vg.Inch, file)
}

// summary is the report of a good run.
func summary(samples []sample) string {
	last := samples[len(samples)-1]
	half := samples[len(samples)/2:]
	var live, count, p99 []float64
	for _, s := range half {
		if s.Live > 0 {
			live = append(live, float64(s.Live))
		}
		count = append(count, float64(s.Goroutines))
		p99 = append(p99, s.LagMost.Seconds())
	}
	var p50 []float64
	for _, s := range half {
		p50 = append(p50, s.LagHalf.Seconds())
	}
	asDuration := func(seconds float64) time.Duration {
		return time.Duration(seconds * float64(time.Second)).Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("%s: %d changes, %.0f/s, %d refused; %d faults; %d restarts, %d from the checkpoint\n"+
		"second half, medians: live heap %s, %.0f goroutines, lag p50 %s p99 %s",
		last.At.Round(time.Second), last.Changes, float64(last.Changes)/last.At.Seconds(), last.Refused, last.Faults, last.Restarts, last.Resumed,
		mebibytes(median(live)), median(count), asDuration(median(p50)), asDuration(median(p99)))
}
