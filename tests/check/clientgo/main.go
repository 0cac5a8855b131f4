package main

import (
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// facades are the packages under test, and what stands in for them.
var facades = map[string]string{
	"k8s.io/client-go/tools/cache":    "glasswatch/compat/cache",
	"k8s.io/client-go/util/workqueue": "glasswatch/compat/workqueue",
}

// shards is how many programs run at once. Each has a part of the tests.
const shards = 4

func main() {
	log.SetFlags(0)
	var opts options
	flag.BoolVar(&opts.original, "original", false, "run client-go instead, which must pass them all")
	flag.StringVar(&opts.only, "run", "", "run only tests that match, and do not look at the table")
	flag.BoolVar(&opts.write, "write", false, "write the table anew; reasons are kept")
	flag.BoolVar(&opts.verbose, "v", false, "print the output of tests that do what the table says, too")
	flag.DurationVar(&opts.timeout, "timeout", 3*time.Minute, "how long the tests of a package may take")
	flag.Parse()
	wrong, err := check(opts)
	if err != nil {
		log.Fatal(err)
	}
	if len(wrong) > 0 {
		log.Fatalf("\n%s", strings.Join(wrong, "\n"))
	}
}

type options struct {
	original, write, verbose bool
	only                     string
	timeout                  time.Duration
}

// check returns what is wrong, a line each.
func check(opts options) (wrong []string, err error) {
	root, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	told, err := readTable(tableFile)
	if err != nil {
		return nil, err
	}
	found := map[string][]row{}
	for _, path := range slices.Sorted(maps.Keys(facades)) {
		rows, complaints, err := checkPackage(root, path, told[path], opts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		found[path] = rows
		wrong = append(wrong, complaints...)
	}
	switch {
	case opts.only != "":
		return wrong, nil
	case opts.original:
		return append(wrong, failing(found)...), nil
	case opts.write:
		return wrong, writeTable(tableFile, found, told)
	}
	return append(wrong, compare(found, told)...), nil
}

// checkPackage runs a package's tests on its facade.
func checkPackage(root, path string, told []row, opts options) (rows []row, wrong []string, err error) {
	src, err := load(root, path)
	if err != nil {
		return nil, nil, err
	}
	g := newGraph(src)
	tests := g.tests()
	if err := excludeAdditions(root, g, tests); err != nil {
		return nil, nil, err
	}
	r := newRewriter(g, facades, tests)
	if opts.original {
		r.facades = nil
	}
	if err := r.rename(root); err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "clientgo-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	dir = filepath.Join(dir, src.pkg.Name())
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, nil, err
	}
	names, err := r.write(dir)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	binary, err := build(root, dir, names)
	if err != nil {
		return nil, nil, err
	}
	built := time.Now()
	which := patterns(tests, shards, told)
	if opts.only != "" {
		which = []string{opts.only}
	}
	out, err := run(binary, opts.timeout, which)
	if err != nil {
		return nil, nil, err
	}
	if err := runAgain(binary, opts.timeout, &out); err != nil {
		return nil, nil, err
	}
	fmt.Printf("%s: built in %.1f s, run in %.1f s\n", path, built.Sub(began).Seconds(), time.Since(built).Seconds())
	for _, t := range tests {
		rows = append(rows, r.row(t, out))
	}
	printRows(rows, told, out, opts)
	if out.endedBadly() {
		wrong = append(wrong, path+": "+out.rest)
	}
	return rows, wrong, nil
}
