// Command report runs the layers' benchmarks beside client-go's and writes what came of them: a page with the goals, one with all ratios,
// and a chart for each layer. The raw figures, and those laid out by benchstat, stay in bench.out, which is not part of the repository.
//
//	go run ./report -count 10 -out ../../../docs/results/benchmarks
//	go run ./report -goals                        only what goals are about, and their page
//	go run ./report -layers indexer -bench List   those benchmarks again, and the page
//	go run ./report -run=false                    the page again, from the raw figures that are there
//
// All implementations run in turn, and then in turn again, so that a machine that is busy for some seconds slows each; and each in
// a process of its own, so that none runs on what another has left on the heap. What counts is the ratio; the absolute figures are in
// the raw files.
//
// Read run.go for the measuring, read.go and compare.go for the figures, goals.go for what they should be, page.go, rivals.go,
// lens.go and chart.go for what is made of them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// layers are the folders with benchmarks, in the order in which an event passes them, and then the facades.
var layers = []string{
	"listwatch", "listwatch/memo", "reflector", "deltafifo", "indexer", "sharedinformer", "workqueue", "compat/cache", "compat/workqueue",
	rivals, lens,
}

// floors are what impl=floor of each layer does.
var floors = map[string]string{
	"listwatch": "the decoder of the objects' type on bytes that lie there; of frames, one copy of the bytes. " +
		"In Frames wire=json client-go does more: its framer looks for errors of syntax and copies each frame. Next has both.",
	"deltafifo":      "what no queue of the kind could do without, such as one append and one map entry.",
	"indexer":        "plain maps and slices without locks: one lookup, one copy of the slice.",
	"sharedinformer": "the same source and the handlers, with no reflector, queue and store; of latencies, a hand-over to a goroutine for each handler.",
	"compat/cache":   "the calls of client-go's key and index functions, and a map entry.",
	"workqueue":      "what no queue could do without, such as a map entry and a slot; between goroutines, a channel.",
}

// fileOf is a layer's name in file names.
func fileOf(layer string) string { return strings.ReplaceAll(layer, "/", "-") }

func main() {
	root := flag.String("root", "../../..", "the checkout")
	out := flag.String("out", "../../../docs/results/benchmarks", "where to write")
	raw := flag.String("raw", "../../../bench.out", "where the raw figures are, and benchstat's layout of them")
	count := flag.Int("count", 10, "how often each benchmark runs")
	benchtime := flag.Duration("benchtime", 100*time.Millisecond, "how long each run takes; up to ten times that where one operation takes long or goroutines work together")
	bench := flag.String("bench", ".", "the benchmarks to measure, by a regular expression; the figures of others stay as they are")
	only := flag.String("layers", strings.Join(layers, ","), "the layers to measure")
	goalsOnly := flag.Bool("goals", false, "measure only what goals are about, and write only their page")
	measure := flag.Bool("run", true, "measure; false makes the page from the raw files that are there")
	flag.Parse()
	which, err := regexp.Compile(*bench)
	if err == nil {
		err = report(*root, *raw, *out, strings.Split(*only, ","), options{which, *count, *benchtime, *measure, *goalsOnly})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

type options struct {
	bench     *regexp.Regexp
	count     int
	benchtime time.Duration
	measure   bool
	goalsOnly bool
}

func report(root, raw, out string, only []string, o options) error {
	if o.goalsOnly {
		raw = filepath.Join(raw, "goals") // those of the other rows stay as they are
		only = slices.DeleteFunc(slices.Clone(only), func(layer string) bool {
			return !slices.ContainsFunc(goals, func(g goal) bool { return g.layer == layer })
		})
	}
	if err := errors.Join(os.MkdirAll(raw, 0o755), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	if o.measure {
		if err := run(root, raw, only, o); err != nil {
			return err
		}
	}
	var sections []section
	for _, layer := range layers {
		file := filepath.Join(raw, fileOf(layer)+".txt")
		if _, err := os.Stat(file); os.IsNotExist(err) {
			continue
		}
		s, err := read(layer, file)
		if err != nil {
			return err
		}
		sections = append(sections, s)
		if o.goalsOnly {
			continue
		}
		if err := layOut(root, file, filepath.Join(raw, fileOf(layer)+".benchstat.txt")); err != nil {
			return err
		}
		if err := chart(s, filepath.Join(out, fileOf(layer)+".svg")); err != nil {
			return err
		}
	}
	if !o.goalsOnly {
		return os.WriteFile(filepath.Join(out, "README.md"), []byte(page(sections, time.Now())), 0o644)
	}
	text, missing := goalsPage(goals, sections, only, time.Now())
	return errors.Join(os.WriteFile(filepath.Join(out, "goals.md"), []byte(text), 0o644), missing)
}
