package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// options is the command line.
type options struct {
	lasts      time.Duration
	objects    int
	rate       int
	faultEvery time.Duration
	seed       uint64
	out        string
}

func main() {
	var o options
	flag.DurationVar(&o.lasts, "for", 30*time.Minute, "how long the load lasts")
	flag.IntVar(&o.objects, "objects", 10_000, "how many objects there are")
	flag.IntVar(&o.rate, "rate", 2000, "changes a second to try for")
	flag.DurationVar(&o.faultEvery, "fault-every", 2*time.Second, "time between two faults; 0 is none")
	flag.Uint64Var(&o.seed, "seed", 1, "of the faults and changes")
	flag.StringVar(&o.out, "out", "soak.out", "folder for samples.csv, the pictures and the log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func (o options) validate() error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("want flags only, got %q", flag.Arg(0))
	case o.lasts < 5*time.Second:
		return fmt.Errorf("--for: want at least 5s, got %s", o.lasts)
	case o.objects < writers:
		return fmt.Errorf("--objects: want at least %d, got %d", writers, o.objects)
	case o.rate < 1:
		return fmt.Errorf("--rate: want at least 1, got %d", o.rate)
	case o.faultEvery < 0:
		return fmt.Errorf("--fault-every: want 0 or more, got %s", o.faultEvery)
	}
	return nil
}

func run(ctx context.Context, o options, out io.Writer) error {
	if err := o.validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(o.out, "soak.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	klog.SetLoggerWithOptions(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))), klog.ContextualLogger(true))
	defer klog.ClearLogger()

	baseline := goroutines()
	samples, complaints, err := soak(ctx, o, out)
	if err != nil {
		return err
	}
	complaints = append(complaints, judgeLeft(baseline)...)
	if err := writeAll(o.out, samples); err != nil {
		return err
	}
	fmt.Fprintln(out, summary(samples))
	fmt.Fprintf(out, "samples and pictures: %s\n", o.out)
	for _, complaint := range complaints {
		err = errors.Join(err, errors.New(complaint))
	}
	if err == nil {
		fmt.Fprintln(out, "flat, and all alike")
	}
	return err
}

// soak returns the samples of the load, and their faults. An error has nothing to do with the load. When it returns,
// all that it started has ended.
func soak(ctx context.Context, o options, out io.Writer) ([]sample, []string, error) {
	folder, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(folder)
	w, err := newWorld(ctx, o, folder)
	if err != nil {
		return nil, nil, err
	}
	defer w.stop()
	if err := w.fill(ctx); err != nil {
		return nil, nil, fmt.Errorf("making the objects: %w", err)
	}
	if err := w.start(); err != nil {
		return nil, nil, err
	}
	loaded, cancel := context.WithTimeout(ctx, o.lasts)
	defer cancel()
	w.background.Go(func() { w.restarts(loaded) })
	w.background.Go(func() { w.faults(loaded) })
	w.load(loaded)
	samples, err := w.measure(loaded, newProgress(out, o.lasts))
	w.background.Wait()
	if err != nil {
		return nil, nil, err
	}
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("interrupted: %w", ctx.Err())
	}
	return samples, append(judge(samples, o.objects), w.settle(ctx)...), nil
}
