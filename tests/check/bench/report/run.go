package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// run measures each layer and leaves the raw figures in out.
func run(root, raw string, only []string, o options) error {
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
		b.names = slices.DeleteFunc(b.names, func(name string) bool { return !o.bench.MatchString(name) || o.goalsOnly && !isGoal(layer, name) })
		if len(b.names) > 0 {
			measured = append(measured, b)
			p.total += len(b.names) * o.count
		}
	}
	p.began = time.Now()
	for _, b := range measured {
		if err := b.measure(filepath.Join(raw, fileOf(b.layer)+".txt"), o, func() { p.step(b.layer) }); err != nil {
			return err
		}
	}
	p.end()
	return nil
}

// together are the benchmarks whose goroutines stand in each other's way, or wait for each other. What comes of one depends on whose
// turn it is, and they take some time to fall into step; so each of their runs takes longer.
var together = regexp.MustCompile("AllCores|Beside|Producer|Latency|Event")

const (
	togetherLonger = 5
	// A run is long enough for so many of what is measured, at most so many times longer than others: the first ones, in a
	// process that has just begun, are slow.
	slowRuns   = 4
	slowLonger = 10
)

// bench is the compiled tests of a layer.
type bench struct {
	layer, folder, binary string
	// names are those of its benchmarks, each with its implementation.
	names []string
	// slowest is how long the slowest implementation of a workload takes, once.
	slowest map[string]time.Duration
}

func build(root, layer, dir string) (bench, error) {
	binary, err := filepath.Abs(filepath.Join(dir, fileOf(layer)))
	if err != nil {
		return bench{}, err
	}
	b := bench{layer: layer, folder: filepath.Join(root, layer), binary: binary, slowest: map[string]time.Duration{}}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-o", b.binary, ".")
	cmd.Dir = b.folder // which may be in a module of its own
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return b, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	lines, err := b.play(".", "1x")
	if err != nil {
		return b, err
	}
	for _, line := range lines {
		if name, took, ok := result(line); ok {
			w := workloadOf(name)
			b.names = append(b.names, name)
			b.slowest[w] = max(b.slowest[w], took)
		}
	}
	return b, nil
}

// result takes a line with a benchmark's result apart: its name, without the number of processors behind it, and the time of one
// operation.
func result(line string) (name string, took time.Duration, ok bool) {
	name, figures, _ := strings.Cut(line, "\t")
	ns, ok := strings.CutSuffix(perOp.FindString(figures), " ns/op")
	if !ok || !strings.HasPrefix(name, "Benchmark") {
		return "", 0, false
	}
	f, err := strconv.ParseFloat(ns, 64)
	return strings.TrimSuffix(strings.TrimSpace(name), processors), time.Duration(f), err == nil
}

var (
	perOp      = regexp.MustCompile(`[0-9.e+]+ ns/op`)
	processors = "-" + strconv.Itoa(runtime.GOMAXPROCS(0))
)

// workloadOf is a benchmark's name without its implementation.
func workloadOf(name string) string {
	parts := strings.Split(name, "/")
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return strings.HasPrefix(part, "impl=") }), "/")
}

// pattern is what only the benchmark of that name matches.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// timeFor is how long a run of the benchmark takes, the same for each implementation.
func (b bench) timeFor(name string, base time.Duration) time.Duration {
	d := min(max(base, slowRuns*b.slowest[workloadOf(name)]), slowLonger*base)
	if together.MatchString(name) {
		d = max(d, togetherLonger*base)
	}
	return d
}

// measure plays all benchmarks, and then all again, o.count times: with -count each would have its runs in a row, and a
// machine that is busy for some seconds would slow those of one implementation only.
//
// Each has a process of its own. What others leave on the heap decides how often the collector runs and which memory is at
// hand; so a figure would depend on what stands before it in the file, and be another than that of who asks for it alone.
func (b bench) measure(into string, o options, each func()) error {
	kept, err := otherResults(into, o.bench)
	if err != nil {
		return err
	}
	file, err := os.Create(into)
	if err != nil {
		return err
	}
	defer file.Close()
	said := map[string]bool{} // what a process says of itself, such as the processor's name, is said once
	for _, line := range kept {
		fmt.Fprintln(file, line)
		said[line] = true
	}
	for range o.count {
		for _, name := range b.names {
			lines, err := b.play(pattern(name), b.timeFor(name, o.benchtime).String())
			if err != nil {
				return err
			}
			var got []string
			for _, line := range lines {
				name, _, ok := result(line)
				if ok {
					got = append(got, name)
				}
				if ok || !said[line] {
					fmt.Fprintln(file, line)
				}
				said[line] = true
			}
			if !slices.Equal(got, []string{name}) {
				return fmt.Errorf("-bench %s: expected one result, of %s, got %q", pattern(name), name, got)
			}
			each()
		}
	}
	return file.Close()
}

// otherResults are the lines of a raw file that stay if the benchmarks that match are measured anew: none, if those are all.
func otherResults(file string, anew *regexp.Regexp) (lines []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	others := false
	for line := range strings.Lines(string(text)) {
		name, _, ok := result(line)
		if ok && anew.MatchString(name) {
			continue
		}
		others = others || ok
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	if !others {
		return nil, nil
	}
	return lines, nil
}

// play runs benchmarks once and returns what they print: only what benchstat reads, no machine's paths.
func (b bench) play(pattern, benchtime string) ([]string, error) {
	cmd := exec.Command(b.binary, "-test.run=^$", "-test.bench="+pattern, "-test.benchtime="+benchtime, "-test.benchmem", "-test.timeout=30m")
	cmd.Dir = b.folder
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return line == "PASS" }), nil
}

// layOut has benchstat lay the raw figures out, the implementations side by side, without what has none.
func layOut(root, raw, into string) error {
	raw, err := filepath.Abs(raw)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", "benchstat", "-col", "/impl", "-filter", "/impl:/.+/", raw)
	cmd.Dir = filepath.Join(root, "tests", "check")
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
