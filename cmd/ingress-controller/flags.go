package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/cmd/internal/logging"
	"glasswatch/controller/ingress"
)

// options is the command line.
type options struct {
	cluster  cluster.Flags
	log      logging.Flags
	election electionFlags
	lens     lensFlags
	embedded bool
	demo     bool
	version  bool

	namespace   string
	workers     int
	resync      time.Duration
	config      ingress.Config
	metricsAddr string
	healthAddr  string
}

// parse reads args (without the program's name). It returns pflag.ErrHelp when
// help was asked for, and was printed to out.
func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	fs := pflag.NewFlagSet("ingress-controller", pflag.ContinueOnError)
	fs.SetOutput(out)
	fs.SortFlags = false
	fs.Usage = func() {
		fmt.Fprintf(out, "Gives every Service annotated %s/http: \"true\" an Ingress, and keeps it right.\n\n%s",
			ingress.DefaultAnnotationPrefix, fs.FlagUsages())
	}
	fs.BoolVar(&o.demo, "demo", false, "play every rule against an in-process API server, and exit 0 if all held")
	fs.BoolVar(&o.embedded, "embedded", false, "run against an in-process API server on a loopback port, till stopped")
	fs.BoolVar(&o.version, "version", false, "print the version, and exit")
	fs.StringVar(&o.cluster.Kubeconfig, "kubeconfig", "", "path of a kubeconfig; without it $KUBECONFIG, else the Pod's own service account")
	fs.StringVar(&o.cluster.Context, "context", "", "context of the kubeconfig; without it the current one")
	fs.BoolVar(&o.cluster.Insecure, "insecure-skip-tls-verify", false, "do not check the API server's certificate; anybody on the way can read and write")
	fs.StringVarP(&o.namespace, "namespace", "n", "", "the one namespace to look at; without it all")
	fs.StringVar(&o.config.AnnotationPrefix, "annotation-prefix", ingress.DefaultAnnotationPrefix, "prefix of the annotations <prefix>/http and <prefix>/host; all controllers of a cluster must agree on it")
	fs.StringVar(&o.config.Class, "ingress-class", ingress.DefaultClass, "ingress class to set; empty leaves it to others")
	fs.StringVar(&o.config.Host, "host", ingress.DefaultHost, "host of a Service that names none")
	fs.IntVar(&o.workers, "workers", 2, "how many Services are worked on at the same time")
	fs.DurationVar(&o.resync, "resync", 10*time.Minute, "how often every Service is looked at again; 0 is never")
	fs.StringVar(&o.metricsAddr, "metrics-addr", "127.0.0.1:8080", "address of /metrics; empty for none; a free port with --embedded")
	fs.StringVar(&o.healthAddr, "health-addr", "127.0.0.1:8081", "address of /healthz and /readyz; likewise")
	o.election.addTo(fs)
	o.lens.addTo(fs)
	o.log.AddTo(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return o, o.validate(fs)
}

func (o *options) validate(fs *pflag.FlagSet) error {
	if fs.NArg() > 0 {
		return fmt.Errorf("want flags only, got %q", fs.Arg(0))
	}
	if o.workers < 1 {
		return fmt.Errorf("--workers: want at least 1, got %d", o.workers)
	}
	if o.resync < 0 {
		return fmt.Errorf("--resync: want 0 or more, got %s", o.resync)
	}
	if errs := validation.IsDNS1123Label(o.namespace); o.namespace != "" && len(errs) > 0 {
		return fmt.Errorf("--namespace: want a namespace's name, got %q: %s", o.namespace, strings.Join(errs, "; "))
	}
	if o.demo && o.embedded {
		return fmt.Errorf("--demo and --embedded: want one of the two")
	}
	if o.demo || o.embedded {
		for _, name := range []string{"kubeconfig", "context", "insecure-skip-tls-verify", "leader-elect"} {
			if fs.Changed(name) {
				return fmt.Errorf("--%s: an in-process API server needs none", name)
			}
		}
		o.takeFreePorts(fs)
	}
	if o.demo {
		for _, name := range []string{"namespace", "resync", "metrics-addr", "health-addr", "lens-addr"} {
			if fs.Changed(name) {
				return fmt.Errorf("--%s: the demo has no use for it", name)
			}
		}
	}
	if err := errors.Join(o.election.validate(fs), o.lens.validate(), o.log.Validate()); err != nil {
		return err
	}
	if err := o.config.Validate(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return errors.Join(checkAddress("metrics-addr", o.metricsAddr), checkAddress("health-addr", o.healthAddr))
}

func checkAddress(flag, address string) error {
	if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
		return fmt.Errorf("--%s: want host:port or nothing, got %q: %w", flag, address, err)
	}
	return nil
}

// takeFreePorts uses free ports, so that a demo does not fail because a port is taken.
func (o *options) takeFreePorts(fs *pflag.FlagSet) {
	for name, addr := range map[string]*string{"metrics-addr": &o.metricsAddr, "health-addr": &o.healthAddr} {
		if !fs.Changed(name) {
			*addr = "127.0.0.1:0"
		}
	}
}
