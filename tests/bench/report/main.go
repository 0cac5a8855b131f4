// Command report runs the layers' benchmarks beside client-go's and writes what came of them: the raw figures, one page with
// the ratios, and a chart per layer.
//
//	go run ./report -count 10 -out ../../docs/benchmarks
//
// Both implementations run in the same process in turn, so that a busy machine slows both. What counts is the ratio; the
// absolute figures are in the raw files, for benchstat.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// layers are the folders with benchmarks, in the order in which an event passes them.
var layers = []string{"listwatch", "reflector", "deltafifo", "indexer", "sharedinformer", "workqueue"}

func main() {
	root := flag.String("root", "../..", "the checkout")
	out := flag.String("out", "../../docs/benchmarks", "where to write")
	count := flag.Int("count", 10, "how often each benchmark runs")
	benchtime := flag.String("benchtime", "300ms", "how long each run takes, as in go test")
	only := flag.String("layers", strings.Join(layers, ","), "the layers to measure")
	measure := flag.Bool("run", true, "measure; false makes the page from the raw files that are there")
	flag.Parse()
	if err := report(*root, *out, strings.Split(*only, ","), options{*count, *benchtime, *measure}); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

type options struct {
	count     int
	benchtime string
	measure   bool
}

func report(root, out string, only []string, o options) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if o.measure {
		if err := run(root, out, only, o); err != nil {
			return err
		}
	}
	var sections []section
	for _, layer := range layers {
		file := filepath.Join(out, layer+".txt")
		if _, err := os.Stat(file); os.IsNotExist(err) {
			continue
		}
		s, err := read(layer, file)
		if err != nil {
			return err
		}
		if err := chart(s, filepath.Join(out, layer+".svg")); err != nil {
			return err
		}
		sections = append(sections, s)
	}
	return writePage(filepath.Join(out, "README.md"), sections)
}
