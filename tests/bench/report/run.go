package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// run measures each layer and leaves the raw figures in out.
func run(root, out string, only []string, o options) error {
	for _, layer := range only {
		if !slices.Contains(layers, layer) {
			return fmt.Errorf("no layer %q: there are %s", layer, strings.Join(layers, ", "))
		}
	}
	dir, err := os.MkdirTemp("", "glasswatch-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := &progress{out: os.Stderr, live: term.IsTerminal(int(os.Stderr.Fd())), began: time.Now()}
	var measured []bench
	for _, layer := range only {
		b, err := build(root, layer, dir)
		if err != nil {
			return err
		}
		// Each benchmark once, and fast: only to know how many there are.
		before := p.total
		if err := b.play(io.Discard, func() { p.total += o.count }, "-test.benchtime=1x"); err != nil {
			return err
		}
		if p.total > before {
			measured = append(measured, b)
		}
	}
	p.began = time.Now()
	for _, b := range measured {
		if err := b.measure(filepath.Join(out, fileOf(b.layer)+".txt"), o, func() { p.step(b.layer) }); err != nil {
			return err
		}
	}
	p.end()
	return nil
}

// contended are the benchmarks in which goroutines stand in each other's way. What comes of one depends on whose turn it is;
// so each of their runs takes longer.
const (
	contended       = "Beside|Producers"
	contendedLonger = 10
)

// bench is the compiled tests of a layer.
type bench struct{ layer, folder, binary string }

func build(root, layer, dir string) (bench, error) {
	b := bench{layer, filepath.Join(root, layer), filepath.Join(dir, fileOf(layer))}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-o", b.binary, "./"+layer)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return b, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return b, nil
}

// measure plays all benchmarks, and then all again, o.count times: with -count each would have its runs in a row, and a
// machine that is busy for some seconds would slow those of one implementation only.
func (b bench) measure(into string, o options, each func()) error {
	file, err := os.Create(into)
	if err != nil {
		return err
	}
	defer file.Close()
	for range o.count {
		if err := b.play(file, each, "-test.benchtime="+o.benchtime.String(), "-test.skip="+contended); err != nil {
			return err
		}
		longer := o.benchtime * contendedLonger
		if err := b.play(file, each, "-test.benchtime="+longer.String(), "-test.bench="+contended); err != nil {
			return err
		}
	}
	return file.Close()
}

// play runs the benchmarks once and calls each for every result. Only what benchstat reads goes to w: no machine's paths.
func (b bench) play(w io.Writer, each func(), flags ...string) error {
	binary, err := filepath.Abs(b.binary)
	if err != nil {
		return err
	}
	cmd := exec.Command(binary, append([]string{"-test.run=^$", "-test.bench=.", "-test.benchmem", "-test.timeout=3h"}, flags...)...)
	cmd.Dir = b.folder
	cmd.Stderr = os.Stderr
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	scanner := bufio.NewScanner(lines)
	for scanner.Scan() {
		line := scanner.Text()
		if strings.HasPrefix(line, "Benchmark") && strings.Contains(line, "ns/op") {
			each()
		}
		if line != "PASS" {
			fmt.Fprintln(w, line)
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return scanner.Err()
}

// layOut has benchstat lay the raw figures out, the implementations side by side, without what has none.
func layOut(root, raw, into string) error {
	raw, err := filepath.Abs(raw)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", "benchstat", "-col", "/impl", "-filter", "/impl:/.+/", raw)
	cmd.Dir = filepath.Join(root, "tests", "bench")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return os.WriteFile(into, text, 0o644)
}

// progress tells on a terminal how far a long run is.
type progress struct {
	out         io.Writer
	live        bool
	done, total int
	began       time.Time
}

func (p *progress) step(what string) {
	p.done++
	if !p.live {
		return
	}
	spent := time.Since(p.began)
	rate := float64(p.done) / spent.Seconds()
	left := time.Duration(float64(p.total-p.done) / rate * float64(time.Second))
	fmt.Fprintf(p.out, "\r\033[K%d of %d measured, %.1f/s, %s left: %s", p.done, p.total, rate, left.Round(time.Second), what)
}

func (p *progress) end() {
	if p.live {
		fmt.Fprintln(p.out)
	}
}
