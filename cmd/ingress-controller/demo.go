package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/controller/ingress"
	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
)

// rule is one numbered step of the demo. Play does something, and waits till it
// sees what ought to come of it.
type rule struct {
	title string
	play  func(ctx context.Context, w *world) error
}

// patience is how long the demo waits for what a rule promises.
const patience = 10 * time.Second

// runDemo plays the rules against an API server and a controller of its own.
func runDemo(ctx context.Context, o *options, out io.Writer) error {
	if !klog.V(1).Enabled() {
		klog.SetLogger(logr.Discard()) // the steps tell the story; the failures in it are on purpose
	}
	return withServer(ctx, "", func(ctx context.Context, server *apiserver.Server, cfg *rest.Config, kubeconfig string) error {
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		traces := newRecorder()
		c, err := ingress.New(cfg, ingress.Options{Config: o.config, Workers: o.workers, Trace: traces.record})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		var controller errgroup.Group
		controller.Go(func() error { return c.Run(ctx) })
		p := newPrinter(out)
		p.line("API server at %s, kubeconfig %s", cfg.Host, kubeconfig)
		w := &world{client: client, faults: server.Faults(), traces: traces, config: o.config, controller: c}
		err = playAll(ctx, w, p)
		cancel()
		return errors.Join(err, controller.Wait())
	})
}

func playAll(ctx context.Context, w *world, p *printer) error {
	began := time.Now()
	rules := demoRules()
	failed := 0
	for i, r := range rules {
		w.begin(fmt.Sprintf("rule-%d", i+1))
		stepCtx, cancel := context.WithTimeout(ctx, patience)
		err := w.enterNamespace(stepCtx)
		start := time.Now()
		if err == nil {
			err = r.play(stepCtx, w)
		}
		took := time.Since(start)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.step(i+1, r.title, w.acts, took, err)
		if err != nil {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d rules did not hold", failed, len(rules))
	}
	p.line("All %d rules held, in %s.", len(rules), time.Since(began).Round(time.Millisecond))
	p.line("Read on in listwatch/doc.go: the pictures follow the layers above, from the wire to the controller.")
	return nil
}

// act is something done, the way it went through the layers, and what was seen of it.
type act struct {
	did  string
	path []ingress.Trace
	saw  []string
}

// printer lays the steps out, in colour on a terminal that wants it.
type printer struct {
	out   io.Writer
	color bool
}

func newPrinter(out io.Writer) *printer {
	file, ok := out.(interface{ Fd() uintptr })
	return &printer{out: out, color: ok && term.IsTerminal(int(file.Fd())) && wantsColor()}
}

func (p *printer) paint(code, text string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p.out, format+"\n", args...)
}

const (
	bold, dim, green, red = "1", "2", "32", "31"
)

func (p *printer) step(number int, title string, acts []*act, took time.Duration, err error) {
	p.line("\n%s %s", p.paint(bold, fmt.Sprintf("%2d", number)), p.paint(bold, title))
	for _, a := range acts {
		p.line("   %-5s %s", "did", a.did)
		for _, t := range a.path {
			p.line("%s", p.paint(dim, "         "+traceLine(t)))
		}
		for _, saw := range a.saw {
			p.line("   %-5s %s", "saw", saw)
		}
	}
	verdict := p.paint(green, "held")
	if err != nil {
		verdict = p.paint(red, "DID NOT HOLD: "+err.Error())
	}
	p.line("   %s, %s", verdict, took.Round(100*time.Microsecond))
}

func traceLine(t ingress.Trace) string {
	what := t.Key.String()
	if t.Kind != "" {
		what = t.Kind + " " + what
	}
	version := ""
	if t.ResourceVersion != "" {
		version = "rv " + t.ResourceVersion
	}
	return fmt.Sprintf("%-15s %-22s %-26s %s", t.Layer, t.Action, what, version)
}

func keyOf(namespace, name string) listwatch.Key {
	return listwatch.Key{Namespace: namespace, Name: name}
}
