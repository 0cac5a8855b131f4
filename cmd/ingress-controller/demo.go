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
const patience = 10 * time.Second

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
		err = playAll(ctx, w, p)
		cancel()
		return errors.Join(err, controller.Wait())
	})
}

func playAll(ctx context.Context, w *world, p *demo.Printer) error {
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
		printStep(p, i+1, r.title, w.acts, took, err)
		if err != nil {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d rules did not hold", failed, len(rules))
	}
	p.Line("All %d rules held, in %s.", len(rules), time.Since(began).Round(time.Millisecond))
	p.Line("Read on in listwatch/doc.go: the pictures follow the layers above, from the wire to the controller.")
	return nil
}

// act is an action, its way through the layers, and its result.
type act struct {
	did  string
	path []look.Event
	saw  []string
}

func printStep(p *demo.Printer, number int, title string, acts []*act, took time.Duration, err error) {
	p.Heading(number, title)
	for _, a := range acts {
		p.Entry("did", "", a.did)
		for _, t := range a.path {
			p.Line("%s", p.Paint(demo.Dim, "         "+traceLine(t)))
		}
		for _, saw := range a.saw {
			p.Entry("saw", "", saw)
		}
	}
	verdict := p.Paint(demo.Green, "held")
	if err != nil {
		verdict = p.Paint(demo.Red, "DID NOT HOLD: "+err.Error())
	}
	p.Line("   %s, %s", verdict, took.Round(100*time.Microsecond))
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
