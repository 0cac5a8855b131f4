package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/cmd/internal/logging"
)

// patience is how long a story may say nothing. As a whole it takes what the machine and the cluster need.
const patience = 2 * time.Minute

// Brief is set in tests: what is shown with many objects is shown with fewer.
var Brief bool

// interrupted is the exit code after Ctrl-C, as in shells.
const interrupted = 130

// Main tells the story to standard output, and ends the program.
func Main(s Story) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if told := os.Getenv(ChildVariable); told != "" && s.Child != nil {
		if err := live(ctx, s, told, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "%s: child: %v\n", s.Name, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(Run(ctx, s, os.Args[1:], os.Stdout, os.Stderr))
}

// options is the command line.
type options struct {
	cluster cluster.Flags
	follow  bool
	log     logging.Flags
}

// Run tells the story and returns the exit code. When it returns, all goroutines and processes of the story have ended.
func Run(ctx context.Context, s Story, args []string, stdout, stderr io.Writer) int {
	err := run(ctx, s, args, stdout, stderr)
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return 0
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "%s: interrupted: %v\n", s.Name, err)
		return interrupted
	}
	fmt.Fprintf(stderr, "%s: %v\n", s.Name, err)
	return 1
}

func run(ctx context.Context, s Story, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(s, args, stdout)
	if err != nil {
		return err
	}
	stop, err := o.log.Start(stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if !o.log.Asked() {
		klog.SetLoggerWithOptions(logr.Discard(), klog.ContextualLogger(true))
	}
	p := NewPrinter(stdout)
	p.Line("%s", p.Paint(Bold, s.Name+": "+s.Title))
	if o.cluster.Kubeconfig != "" {
		return onCluster(ctx, s, p, o)
	}
	return inProcess(ctx, s, p, o)
}

func parse(s Story, args []string, out io.Writer) (*options, error) {
	o := &options{}
	fs := pflag.NewFlagSet(s.Name, pflag.ContinueOnError)
	fs.SetOutput(out)
	fs.SortFlags = false
	fs.Usage = func() {
		fmt.Fprintf(out, "%s\n\ngo run ./cmd/%s [flags]\n\n%s", s.Title, s.Name, fs.FlagUsages())
	}
	fs.StringVar(&o.cluster.Kubeconfig, "kubeconfig", "", "path of a kubeconfig: work on that cluster, in a namespace that is removed at the end; without it an API server in this process")
	fs.StringVar(&o.cluster.Context, "context", "", "context of the kubeconfig; without it the current one")
	fs.Bool("demo", true, "tell the story and end, as without any flag; other programs need this flag for it")
	fs.BoolVar(&o.follow, "follow", false, "stay at the end, till stopped")
	o.log.AddTo(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("want flags only, got %q", fs.Arg(0))
	}
	if o.cluster.Context != "" && o.cluster.Kubeconfig == "" {
		return nil, errors.New("--context: give --kubeconfig, too")
	}
	return o, o.log.Validate()
}

// play tells the story, follows if asked to, and says what to read next.
func (d *Demo) play(ctx context.Context, s Story, follow bool) error {
	start := time.Now()
	if err := d.tell(ctx, s); err != nil {
		return err
	}
	if follow {
		if err := d.follow(ctx, s); err != nil {
			return err
		}
	}
	d.Line("")
	if s.Layer != "" {
		d.Line("The code behind it: %s. Done in %s.", s.Layer, time.Since(start).Round(time.Millisecond))
	}
	d.Line("Next: %s", d.Paint(Bold, s.Next))
	return nil
}

var errSilent = fmt.Errorf("the story has said nothing for %v", patience)

func (d *Demo) tell(ctx context.Context, s Story) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), errSilent) {
			err = errors.Join(err, errSilent)
		}
	}()
	timer := time.AfterFunc(patience, func() { cancel(errSilent) })
	defer timer.Stop()
	d.onLine(func() { timer.Reset(patience) })
	defer d.onLine(nil)
	defer rescue(&err)
	return s.Tell(ctx, d)
}

// follow ends without an error when ctx ends, for Ctrl-C is the way to leave it.
func (d *Demo) follow(ctx context.Context, s Story) (err error) {
	defer rescue(&err)
	d.Line("\nFollowing, till you press Ctrl-C.")
	if s.Follow == nil {
		<-ctx.Done()
		return nil
	}
	if err := s.Follow(ctx, d); ctx.Err() == nil {
		return err
	}
	return nil
}
