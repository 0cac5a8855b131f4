package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"glasswatch/tests/check/bench/internal/usage"
)

// options are what the command line says.
type options struct {
	n        int
	rate     int
	rounds   int
	history  int
	calm     time.Duration
	steady   time.Duration
	settling time.Duration
	write    bool
	page     string
	raw      string
}

func main() {
	if ran, err := asChild(os.Args); ran {
		exit(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	exit(run(ctx, parse(), os.Stdout, os.Stderr))
}

// asChild is for the processes that this program starts of itself.
func asChild(args []string) (ran bool, err error) {
	if len(args) != 2 {
		return false, nil
	}
	switch args[1] {
	case serveFlag:
		return true, serve(os.Stdin, os.Stdout)
	case measureFlag:
		return true, measure(os.Stdin, os.Stdout)
	}
	return false, nil
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func parse() (o options) {
	flag.IntVar(&o.n, "n", 1_000_000, "how many objects")
	flag.IntVar(&o.rate, "rate", 2000, "changes a second")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each setup is measured")
	flag.IntVar(&o.history, "history", 300_000, "changes that the server keeps: a sync must not take longer")
	flag.DurationVar(&o.calm, "calm", 5*time.Second, "from the sync to the measuring of the changes")
	flag.DurationVar(&o.steady, "steady", 20*time.Second, "how long changes are measured")
	flag.DurationVar(&o.settling, "settling", time.Minute, "how long the stores may take to be the server's at the end")
	flag.BoolVar(&o.write, "write", false, "write the tables and the raw figures")
	flag.StringVar(&o.page, "page", "../../../docs/results/scale.md", "the page whose tables -write replaces")
	flag.StringVar(&o.raw, "raw", "../../../bench.out/scale.txt", "where -write leaves the raw figures")
	flag.Parse()
	return o
}

func run(ctx context.Context, o options, out, log io.Writer) error {
	if o.n < 1 || o.rate < 1 || o.rounds < 1 {
		return errors.New("-n, -rate and -rounds must be at least 1")
	}
	machine := usage.Describe()
	c := &campaign{options: o, log: log}
	if err := c.play(ctx); err != nil {
		return err
	}
	r := &report{options: o, machine: machine, after: usage.Describe().Load, results: c.results, filled: c.filled}
	return r.publish(out)
}
