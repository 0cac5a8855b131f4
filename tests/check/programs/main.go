package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

type options struct {
	rounds   int
	load     load
	lasts    time.Duration
	programs string
	sides    string
	works    string
	write    bool
	keep     string
	profiles string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "how often each side is measured, in turn")
	flag.IntVar(&o.load.Deployments, "deployments", 400, "of the standing loads")
	flag.IntVar(&o.load.Replicas, "replicas", 50, "of each Deployment")
	flag.IntVar(&o.load.Others, "others", 5000, "ReplicaSets, EndpointSlices, ConfigMaps and Secrets, of each")
	flag.DurationVar(&o.lasts, "for", time.Minute, "from a program's start until it is measured")
	flag.StringVar(&o.programs, "programs", strings.Join(programs, ","),
		"which to measure with the first standing load; with the others it is the manager")
	flag.StringVar(&o.sides, "sides", strings.Join(sideNames(), ","), "which to measure")
	flag.StringVar(&o.works, "works", "story,many,few,varied",
		"the story; the loads with many replicas a Deployment, with a tenth of that, and with many that vary")
	flag.BoolVar(&o.write, "write", false, "write docs/results/programs.md and bench.out/programs.txt")
	flag.StringVar(&o.keep, "keep", "",
		"a file with a line for each measurement; those in it are on the page, and are not measured again")
	flag.StringVar(&o.profiles, "profiles", "",
		"a directory for the heap profile of each measurement with a standing load")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	root, err := repository()
	if err != nil {
		return err
	}
	c := &campaign{options: o, binary: filepath.Join(root, "bin", "programs"), machine: lookAtMachine()}
	if err := c.parse(); err != nil {
		return err
	}
	if _, err := os.Stat(c.binary); err != nil {
		return fmt.Errorf("%w: make programs builds it", err)
	}
	if err := c.resume(); err != nil {
		return err
	}
	if err := c.measure(ctx); err != nil {
		return err
	}
	page := c.page()
	if !o.write {
		fmt.Print(page)
		return c.sameFamilies()
	}
	raw := filepath.Join(root, "bench.out")
	return errors.Join(os.WriteFile(filepath.Join(root, "docs", "results", "programs.md"), []byte(page), 0o644),
		os.MkdirAll(raw, 0o755), os.WriteFile(filepath.Join(raw, "programs.txt"), []byte(c.raw()), 0o644), c.sameFamilies())
}

// repository is where the main module is.
func repository() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "glasswatch").Output()
	return strings.TrimSpace(string(out)), err
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
