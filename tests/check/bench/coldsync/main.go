package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"

	"glasswatch/tests/check/bench/internal/usage"
	"glasswatch/tests/check/bench/internal/versus"
)

// options are what the command line says.
type options struct {
	n        int
	rounds   int
	calm     time.Duration
	server   string
	variants []string
	storms   []weather // one after the other, after each sync
	profiles string
	write    bool
	out      string
	rawOut   string
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == measureFlag {
		exit(measure(os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o, err := parse()
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "coldsync:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func parse() (o options, err error) {
	flag.IntVar(&o.n, "n", 20_000, "how many pods")
	flag.DurationVar(&o.calm, "calm", 3*time.Second, "how long the server is left alone between the sync and the storms")
	flag.IntVar(&o.rounds, "rounds", versus.Enough, "how often each variant is measured")
	flag.StringVar(&o.server, "server", "controlplane", "controlplane, embedded, or the path of an admin's kubeconfig; a cluster that has the pods already is not filled again")
	names := flag.String("variants", strings.Join(variants, ","), "what is measured")
	lasts := flag.Duration("storm", 5*time.Second, "how long pods are updated after each sync, at each rate; 0: not at all")
	rates := flag.String("rate", "200,0", "updates per second, of one storm after the other; 0: as many as the server takes")
	flag.StringVar(&o.profiles, "profiles", "", "a folder for the last round's profiles of CPU (until synced) and heap")
	flag.BoolVar(&o.write, "write", false, "write coldsync.md and coldsync.txt")
	flag.StringVar(&o.out, "out", "../../../docs/results/benchmarks", "where -write writes the page")
	flag.StringVar(&o.rawOut, "raw", "../../../bench.out", "where -write writes the raw figures")
	flag.Parse()
	o.variants = strings.Split(*names, ",")
	o.storms, err = forecast(*lasts, *rates)
	return o, err
}

// forecast reads the rates of storms that last equally long: none if that is not at all.
func forecast(lasts time.Duration, rates string) (storms []weather, err error) {
	if lasts == 0 {
		return nil, nil
	}
	for _, s := range strings.Split(rates, ",") {
		rate, err := strconv.Atoi(s)
		if err != nil || rate < 0 {
			return nil, fmt.Errorf("-rate %q: numbers that are not negative, with commas between them", rates)
		}
		storms = append(storms, weather{lasts: lasts, rate: rate})
	}
	return storms, nil
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	for _, name := range o.variants {
		if !slices.Contains(variants, name) {
			return fmt.Errorf("no variant %q: there are %s", name, strings.Join(variants, ", "))
		}
	}
	if o.n < 1 || o.rounds < 1 {
		return errors.New("-n and -rounds must be at least 1")
	}
	m := usage.Describe()
	server, err := startServer(o.server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	cfg, err := configFor(server.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	pods, err := fill(ctx, client, o.n)
	if err != nil {
		return err
	}
	w := &world{kubeconfig: server.kubeconfig, profiles: o.profiles, client: client, pods: pods, storms: o.storms, calm: o.calm}
	results, err := w.play(ctx, o.variants, o.rounds)
	if err != nil {
		return err
	}
	r := &report{options: o, machine: m, results: results, podBytes: pods[0].Size()}
	return r.publish(out)
}
