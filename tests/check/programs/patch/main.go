// Command patch copies client-go from the module cache, patches the copy so that its informers ask a hook first, and
// builds tests/check/kubernetes/programs with it.
//
//	go run -C tests/check ./programs/patch                       makes the copy, and prints where it is
//	go run -C tests/check ./programs/patch -o ../../bin/programs       builds as well, in ten minutes or more the first time
//	go run -C tests/check ./programs/patch -o F -if-cached       builds only if the build cache has all but our own packages
//	go run -C tests/check ./programs/patch -if-cached            only says whether it has
//
// The go command refuses an overlay of the module cache. So the copy stands below the user's cache directory, in
// glasswatch/client-go-VERSION-DIGEST (on Linux below ~/.cache), and a copy of build/go.mod beside it has the replace
// that names it. The digest is that of its contents. So the build cache holds as long as neither client-go's version nor
// a patch changes. With -if-cached no copy is made. A run that makes one removes those unused for a day.
//
// Nothing of client-go is in the repository but the lines that patches.go looks for.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("o", "", "the binary to build")
	cached := flag.Bool("if-cached", false,
		"do not build if that compiles more than this repository's packages; say so, and exit with 3")
	flag.Parse()
	if err := run(*out, *cached); err != nil {
		fmt.Fprintln(os.Stderr, "patch:", err)
		if notCached(err) {
			os.Exit(3)
		}
		os.Exit(1)
	}
}

func run(out string, cached bool) error {
	root, err := repository()
	if err != nil {
		return err
	}
	b := builder{module: filepath.Join(root, "tests", "check", "kubernetes")}
	source, version, err := b.clientGo()
	if err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	parent := filepath.Join(cache, "glasswatch")
	dir, err := findCopy(parent, source, version)
	if cached && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (there is no %s)", errNotCached, dir)
	}
	if !cached {
		dir, err = makeCopy(parent, source, version)
	}
	if err != nil {
		return err
	}
	fmt.Println(dir)
	if out == "" && !cached {
		return nil
	}
	if err := b.useCopy(dir); err != nil {
		return err
	}
	if cached {
		if err := b.checkCached(); err != nil {
			return err
		}
	}
	if out == "" {
		return nil
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	return b.build(out)
}
