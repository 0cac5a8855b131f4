package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"glasswatch/cmd/ingress-controller/sharding"
	"glasswatch/cmd/internal/operator"
	"glasswatch/controller/ingress"
)

// options is the command line.
type options struct {
	operator.Flags
	shards   sharding.Flags
	lens     lensFlags
	embedded bool
	demo     bool
	verbose  bool // of the demo
	version  bool
	resync   time.Duration
	config   ingress.Config
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
	fs.BoolVar(&o.verbose, "verbose", false, "with --demo: tell of each change how it passes each layer")
	fs.BoolVar(&o.demo, "demo", false, "play every rule against an in-process API server, and exit 0 if all held")
	fs.BoolVar(&o.embedded, "embedded", false, "run against an in-process API server on a loopback port, till stopped")
	fs.BoolVar(&o.version, "version", false, "print the version, and exit")
	fs.StringVar(&o.config.AnnotationPrefix, "annotation-prefix", ingress.DefaultAnnotationPrefix, "prefix of the annotations <prefix>/http and <prefix>/host; another prefix is another controller's")
	fs.StringVar(&o.config.Class, "ingress-class", ingress.DefaultClass, "ingress class to set; empty leaves it to others")
	fs.StringVar(&o.config.Host, "host", ingress.DefaultHost, "host of a Service that names none")
	fs.DurationVar(&o.resync, "resync", 10*time.Minute, "how often every Service is looked at again; 0 is never")
	o.Flags.AddTo(fs)
	o.shards.AddTo(fs)
	fs.Lookup("workers").Usage = "how many Services are worked on at the same time"
	fs.Lookup("metrics-addr").Usage = "address of /metrics; empty for none; a free port with --embedded"
	o.lens.addTo(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return o, o.validate(fs)
}

func (o *options) validate(fs *pflag.FlagSet) error {
	if o.resync < 0 {
		return fmt.Errorf("--resync: want 0 or more, got %s", o.resync)
	}
	if o.verbose && !o.demo {
		return fmt.Errorf("--verbose: want it with --demo")
	}
	if o.demo && o.embedded {
		return fmt.Errorf("--demo and --embedded: want one of the two")
	}
	if o.demo || o.embedded {
		err := errors.Join(o.InProcess(fs), operator.Refuse(fs, "an in-process API server needs none", "shards"))
		if err != nil {
			return err
		}
	}
	if o.demo {
		err := operator.Refuse(fs, "the demo has no use for it", "namespace", "resync", "metrics-addr", "health-addr", "lens-addr")
		if err != nil {
			return err
		}
	}
	if o.shards.Count > 0 && o.lens.addr != "" {
		return errors.New("--lens-addr: the lens does not know informers that follow shards")
	}
	if err := errors.Join(o.shards.Validate(fs, &o.Flags), o.lens.validate()); err != nil {
		return err
	}
	if err := o.config.Validate(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}
