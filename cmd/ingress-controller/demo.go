package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/cmd/internal/demo"
	"glasswatch/controller/ingress"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
)

// rule is one numbered step of the demo. Play changes something, and waits until it sees the expected result.
type rule struct {
	title string
	play  func(ctx context.Context, w *world) error
}

// patience is how long the demo waits for the result of a rule.
const patience = time.Minute

// runDemo plays the rules against an API server and a controller of its own.
func runDemo(ctx context.Context, o *options, out io.Writer) error {
	if !o.Log.Asked() {
		klog.SetLogger(logr.Discard()) // the steps tell the story; the failures in it are on purpose
	}
	return cluster.Embedded(ctx, apiserver.New(apiserver.Options{}), "", func(ctx context.Context, e cluster.Embedding) error {
		client, err := kubernetes.NewForConfig(e.Config)
		if err != nil {
			return err
		}
		traces := newRecorder()
		c, err := ingress.New(e.Config, ingress.Options{Config: o.config, Workers: o.Workers, Observe: traces.record})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		var controller errgroup.Group
		controller.Go(func() error { return c.Run(ctx) })
		p := demo.NewPrinter(out)
		p.Line("API server at %s, kubeconfig %s", e.Config.Host, e.Kubeconfig)
		w := &world{client: client, faults: e.Server.Faults(), traces: traces, config: o.config, controller: c}
		err = playAll(ctx, w, p, o.verbose)
		cancel()
		return errors.Join(err, controller.Wait())
	})
}

func playAll(ctx context.Context, w *world, p *demo.Printer, verbose bool) error {
	began := time.Now()
	rules := demoRules()
	tell := teller{Printer: p, verbose: verbose}
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
		tell.step(i+1, r.title, w.acts, took, err)
		if err != nil {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d rules did not hold", failed, len(rules))
	}
	p.Line("\nAll %d steps held, in %s.", len(rules), time.Since(began).Round(time.Millisecond))
	p.Line("Next: docs/learn/tour.md, chapter 9")
	return nil
}

// act is an action, its way through the layers, and its result.
type act struct {
	did  string
	path []look.Event
	saw  []string
}

// teller prints the steps. The first change's way through the layers is told in full. All later ones take the same way, so that only what
// the controller did is told of them, unless verbose.
type teller struct {
	*demo.Printer
	verbose, told bool
}

func (t *teller) step(number int, title string, acts []*act, took time.Duration, err error) {
	verdict := t.Paint(demo.Green, "held")
	if err != nil {
		verdict = t.Paint(demo.Red, "DID NOT HOLD: "+err.Error())
	}
	t.Line("\n%s %s: %s, %s", t.Paint(demo.Bold, fmt.Sprintf("%2d", number)), t.Paint(demo.Bold, title), verdict, took.Round(100*time.Microsecond))
	for _, a := range acts {
		full := t.verbose || !t.told
		did := a.did
		if n := len(a.path); n > 0 && !full {
			did += t.Paint(demo.Dim, " → "+outcome(a.path[n-1]))
		}
		t.Entry("did", "", did)
		if full {
			t.path(a.path)
		}
		for _, saw := range a.saw {
			t.Entry("saw", "", saw)
		}
	}
}

func (t *teller) path(path []look.Event) {
	for _, e := range path {
		t.Line("%s", t.Paint(demo.Dim, "         "+traceLine(e)))
	}
	if len(path) > 0 && !t.told && !t.verbose {
		t.told = true
		t.Line("%s", t.Paint(demo.Dim, "         Every change takes this way. From here on an arrow tells what the controller did; --verbose tells all."))
	}
}

// outcome is what the controller did.
func outcome(e look.Event) string {
	if e.Error != "" {
		return e.Action + ": " + e.Error
	}
	return e.Action
}

func traceLine(e look.Event) string {
	what, action, version := strings.TrimSpace(e.Kind+" "+e.Key), e.Action, ""
	if e.Old != "" {
		action += " rv " + e.Old
	}
	if e.Error != "" {
		action += ": " + e.Error
	}
	if e.RV != "" {
		version = "rv " + e.RV
	}
	return fmt.Sprintf("%-15s %-22s %-26s %s", e.At.Layer(), action, what, version)
}

func keyOf(namespace, name string) listwatch.Key {
	return listwatch.Key{Namespace: namespace, Name: name}
}
