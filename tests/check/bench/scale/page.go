package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"

	"glasswatch/tests/check/bench/internal/usage"
	"glasswatch/tests/check/pages"
)

// report lays the results out.
type report struct {
	options
	machine usage.Machine
	after   string // the load averages at the end
	results []result
	filled  ready
}

// publish prints the tables, and writes them and the raw figures if it is asked to.
func (r *report) publish(out io.Writer) error {
	tables := r.tables()
	if _, err := io.WriteString(out, tables); err != nil || !r.write {
		return err
	}
	return errors.Join(
		pages.Fill(r.page, map[string]string{"make scale": tables}, true),
		os.WriteFile(r.options.raw, []byte(r.rawFigures()), 0o644))
}

func (r *report) tables() string {
	var b strings.Builder
	fmt.Fprintf(&b, `
%d objects, %d changes a second. Machine: %s, %d cores, which server and processes
share; load average before the run %s, after it %s. On a busy machine times and delays say little; memory, bytes and
CPU say more. Rounds: %d; each figure is their median, each time the least and the most. The server holds %.0f B an
object, its history included. With -write the raw figures are in bench.out/scale.txt.

| goal | at most | reached | |
|---|---|---|---|
`, r.n, r.rate, r.machine.CPU, r.machine.Cores, r.machine.Load, r.after, r.rounds, float64(r.filled.Live)/float64(r.n))
	for _, g := range goals {
		got := g.of(r.results)
		verdict := "**missed**"
		switch {
		case math.IsNaN(got):
			verdict = "not measured"
		case g.limit == 0:
			verdict = ""
		case got <= g.limit:
			verdict = "met" + g.note
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", g.what, g.limitText(), g.show(got), verdict)
	}
	b.WriteString("\nFrom the start until every handler has been given every object:\n\n")
	r.table(&b, ofSync)
	b.WriteString("\nMemory, after the changes:\n\n")
	r.table(&b, ofMemory)
	b.WriteString("\nThe changes:\n\n")
	r.table(&b, ofChanges)
	return b.String()
}

func (r *report) table(b *strings.Builder, figures []figure) {
	b.WriteString("| |")
	for _, f := range figures {
		fmt.Fprintf(b, " %s |", f.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(figures)) + "\n")
	for _, s := range setups {
		if s.alone() && figures[0].unit == ofChanges[0].unit {
			continue // nothing changed
		}
		fmt.Fprintf(b, "| %s |", s.title)
		for _, f := range figures {
			switch v := median(r.results, s.name, f.of); {
			case math.IsNaN(v) || math.IsInf(v, 0):
				b.WriteString(" – |")
			case strings.HasSuffix(f.unit, "sec") || f.unit == "sec/op": // a median of times so far apart says little
				all := valuesOf(r.results, s.name, f.of)
				fmt.Fprintf(b, " %s to %s |", f.show(all[0]), f.show(all[len(all)-1]))
			default:
				fmt.Fprintf(b, " %s |", f.show(v))
			}
		}
		b.WriteString("\n")
	}
}

// rawFigures is in the form of Go's benchmark results: a line for each setup and round.
func (r *report) rawFigures() string {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\n", runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(&b, "cpu: %s\nload: %s\nrate: %d/s\n", r.machine.CPU, r.machine.Load, r.rate)
	for _, result := range r.results {
		fmt.Fprintf(&b, "BenchmarkScale/objects=%d/setup=%s-%d\t1", r.n, result.setup.name, r.machine.Cores)
		figures := slices.Concat(ofSync, ofMemory)
		if !result.setup.alone() {
			figures = append(figures, ofChanges...)
		}
		for _, f := range figures {
			if v := f.of(result); !math.IsNaN(v) {
				fmt.Fprintf(&b, "\t%.6g %s", v, f.unit)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
