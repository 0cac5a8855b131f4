package lens

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"

	"glasswatch/controller"
	"glasswatch/indexer"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
	"glasswatch/observe"
	"glasswatch/sharedinformer"
)

// enqueuer is the handler that queues keys, auditor one that does nothing, to be slowed and made to panic.
const (
	enqueuer = "enqueue"
	auditor  = "audit"
)

// pipeline is informers and the loop that works on their keys, put together to be looked at.
type pipeline struct {
	hub     *look.Hub
	view    *look.View
	loop    *controller.Controller[listwatch.Key]
	acts    *actor
	strike  func(kind, handler string) // is called first in each call of a handler; or nil
	ctx     context.Context            // of all that runs
	end     context.CancelFunc
	running sync.WaitGroup
}

// newPipeline makes one without informers. Acts use the configuration.
func newPipeline(
	hub *look.Hub, cfg *rest.Config, seed int64, workers int, reconcile controller.Func[listwatch.Key],
) (*pipeline, error) {
	acts, err := newActor(cfg, seed)
	if err != nil {
		return nil, err
	}
	p := &pipeline{hub: hub, acts: acts}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.loop = controller.New[listwatch.Key](reconcile, controller.Options[listwatch.Key]{
		Name: "lens", Workers: workers, DrainTimeout: -1,
		Observe: func(seen []observe.Observation[listwatch.Key]) { hub.Report(look.Of("", seen)...) },
	})
	p.view = &look.View{
		Informers: map[string]look.Informer{}, Loop: p.loop, Workers: workers, Enqueuer: enqueuer,
	}
	return p, nil
}

// byApp files objects by their label app. Unlike a namespace, an update may change it.
func byApp[T listwatch.Object](obj T, dst []string) ([]string, error) {
	if app := obj.GetLabels()["app"]; app != "" {
		dst = append(dst, app)
	}
	return dst, nil
}

// addInformer makes an informer on objects of a kind, with both handlers. What passes is reported.
func addInformer[T listwatch.Object](
	p *pipeline, lw listwatch.ListerWatcher[T], kind string, opts sharedinformer.Options[T], report func(...look.Event),
) (*look.Observed[T], error) {
	opts.Name, opts.Indexers = opts.Resource.Resource, indexer.Indexers[T]{"app": byApp[T]}
	in := look.At(lw, kind, opts, report)
	p.view.Informers[opts.Name] = in
	add := func(name string, next sharedinformer.Handler[T]) error {
		if p.strike != nil {
			panicked := func(key listwatch.Key, why any) {
				p.hub.Report(look.Event{
					At: look.Returned, Kind: kind, Key: look.NameOf(key), Handler: name, Action: "panic", Error: fmt.Sprint(why),
				})
			}
			next = struck(next, func() { p.strike(kind, name) }, panicked)
		}
		_, err := in.AddHandler(next, sharedinformer.HandlerOptions{Name: name})
		return err
	}
	return in, errors.Join(
		add(enqueuer, controller.EnqueueObject[T](p.loop)), add(auditor, sharedinformer.HandlerFuncs[T]{}))
}

// struck is a handler in which something is called first. If that panics, panicked is called, and the panic goes on.
func struck[T listwatch.Object](
	next sharedinformer.Handler[T], first func(), panicked func(key listwatch.Key, why any),
) sharedinformer.Handler[T] {
	strike := func(key listwatch.Key) {
		defer func() {
			why := recover()
			if why != nil {
				panicked(key, why)
				panic(why)
			}
		}()
		first()
	}
	return sharedinformer.HandlerFuncs[T]{
		AddFunc:    func(obj T, initial bool) { strike(listwatch.KeyOf(obj)); next.OnAdd(obj, initial) },
		UpdateFunc: func(was, is T) { strike(listwatch.KeyOf(is)); next.OnUpdate(was, is) },
		DeleteFunc: func(d sharedinformer.Deletion[T]) { strike(d.Key); next.OnDelete(d) },
	}
}

// start runs all until close.
func (p *pipeline) start() {
	p.hub.Begin(p.view)
	for _, in := range p.view.Informers {
		p.running.Go(func() { _ = in.Run(p.ctx) }) // the error is for a second Run
	}
	p.running.Go(func() { _ = p.loop.Run(p.ctx) }) // nothing is drained
}

// watch reports requests for resources, of the kinds that are given by resource.
func (p *pipeline) watch(cfg *rest.Config, kinds map[string]string, patient bool) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &look.Transport{Next: next, Hub: p.hub, Kinds: kinds, Patient: patient}
	})
	return cfg
}
