// Command swapcheck lists the uses of client-go's tools/cache and util/workqueue that glasswatch's facades treat
// differently.
//
//	go run -C GLASSWATCH/tests/check ./swapcheck DIR
//
// GLASSWATCH is the checkout, DIR a folder of your module; without DIR it is the folder in which you are. All packages
// in it and below it are read, with their tests. They must compile. A program that imports the facades already is read
// as well. Modules in folders below are not read; they are named at the end.
//
// The packages are read for the system and the build tags that GOOS, GOARCH and GOFLAGS say. go run takes these
// variables, and GOWORK, for swapcheck itself. So build it first if you set one of them:
//
//	go build -C GLASSWATCH -o /tmp/swapcheck ./swapcheck
//	GOOS=windows /tmp/swapcheck DIR
//
// Each use is one line: file, line and column; the name; the class and the words of its row in docs/use/facades.md. Rows
// that those words refer to follow at the end. An import that registers metrics for client-go's queues or informers is
// listed, too. A call through an interface of your own is not seen.
//
// The exit status is 0 if no use differs, 1 if there are such uses, and 2 if DIR cannot be checked. (The go command
// reports the latter two alike, as 1, and prints the status.)
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"glasswatch/compat"
)

// The program's exit status.
const (
	nothingDiffers = iota
	usesDiffer
	failed
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) (status int) {
	flags := flag.NewFlagSet("swapcheck", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: go run -C GLASSWATCH/tests/check ./swapcheck DIR\n\nDIR is a folder of your module.")
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nothingDiffers
	case err != nil || flags.NArg() > 1:
		flags.Usage()
		return failed
	}
	r, err := check(flags.Arg(0))
	if err != nil {
		fmt.Fprintln(stderr, "swapcheck:", err)
		return failed
	}
	r.print(stdout, stderr)
	if len(r.differing()) > 0 {
		return usesDiffer
	}
	return nothingDiffers
}

// check reads the packages in and below dir.
func check(dir string) (report, error) {
	dir, err := folder(dir)
	if err != nil {
		return report{}, err
	}
	tables := map[string][]compat.Row{}
	for path, swap := range facades {
		if tables[path], err = compat.Rows(path); err != nil {
			return report{}, err
		}
		tables[swap] = tables[path]
	}
	pkgs, err := load(dir)
	if err != nil {
		return report{}, err
	}
	r, err := analyze(dir, pkgs, tables)
	if err != nil {
		return report{}, err
	}
	r.skipped, err = otherModules(dir, pkgs)
	return r, err
}

// folder makes dir absolute. The go command's -C changes the working directory, but not PWD: that is still where the
// user is.
func folder(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		from := os.Getenv("PWD")
		if !filepath.IsAbs(from) {
			var err error
			if from, err = os.Getwd(); err != nil {
				return "", err
			}
		}
		dir = filepath.Join(from, dir)
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%s is no folder", dir)
	}
	return dir, nil
}
