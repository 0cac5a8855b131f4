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
	p := &progress{out: os.Stderr, live: term.IsTerminal(int(os.Stderr.Fd())), began: time.Now()}
	var measured []string
	for _, layer := range only {
		// Each benchmark once, and fast: only to know how many there are.
		before := p.total
		if err := bench(root, layer, 1, "1x", io.Discard, func() { p.total += o.count }); err != nil {
			return err
		}
		if p.total > before {
			measured = append(measured, layer)
		}
	}
	p.began = time.Now()
	for _, layer := range measured {
		file, err := os.Create(filepath.Join(out, fileOf(layer)+".txt"))
		if err != nil {
			return err
		}
		err = bench(root, layer, o.count, o.benchtime, file, func() { p.step(layer) })
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	p.end()
	return nil
}

// bench runs one layer's benchmarks and calls each for every result. Only what benchstat reads goes to w: no machine's
// paths.
func bench(root, layer string, count int, benchtime string, w io.Writer, each func()) error {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", ".", "-benchmem", "-timeout", "3h",
		fmt.Sprintf("-count=%d", count), "-benchtime="+benchtime, "./"+layer)
	cmd.Dir = root
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
		if !strings.HasPrefix(line, "ok ") {
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
