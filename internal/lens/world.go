package lens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"glasswatch/controller"
	"glasswatch/controller/ingress"
	"glasswatch/indexer"
	"glasswatch/internal/lens/beside"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

// Options of a World. The zero value is one worker, and the in-order queue.
type Options struct {
	Queue   string `json:"queue,omitempty"` // inorder or perkey
	Workers int    `json:"workers,omitempty"`
	Resync  int    `json:"resync_ms,omitempty"`
	// Bookmark is the time between bookmarks, 0 is bookmarkEvery.
	Bookmark int   `json:"bookmark_ms,omitempty"`
	Paged    bool  `json:"paged,omitempty"`  // lists are pages and a watch follows, as before streaming lists
	Seed     int64 `json:"seed,omitempty"`   // of what is random in acts
	Beside   bool  `json:"beside,omitempty"` // client-go's informers run beside ours
}

const maxWorkers = 16

func (o *Options) validate() error {
	o.Queue, o.Workers = cmp.Or(o.Queue, "inorder"), max(o.Workers, 1)
	if o.Queue != "inorder" && o.Queue != "perkey" || o.Workers > maxWorkers || min(o.Resync, o.Bookmark) < 0 {
		const want = "%w: want queue inorder or perkey, 1 … %d workers, and times of 0 or more, got %+v"
		return fmt.Errorf(want, look.ErrBadBody, maxWorkers, *o)
	}
	return nil
}

// enqueuer is the handler that queues keys, auditor one that does nothing, to be slowed and made to panic.
const (
	enqueuer = "enqueue"
	auditor  = "audit"
)

// World is what is looked at: an API server, two informers and the ingress controller.
type World struct {
	hub       *look.Hub
	virtual   bool // in a testing/synctest bubble, in which a handler takes some time: see pace
	backend   *backend
	options   Options
	acts      *actor
	services  *look.Observed[*corev1.Service]
	ingresses *look.Observed[*networkingv1.Ingress]
	beside    *beside.Beside                 // nil if client-go's informers do not run
	compared  []*sharedinformer.Registration // of ours, with it
	loop      *controller.Controller[listwatch.Key]
	ctx       context.Context // of all that runs
	end       context.CancelFunc
	running   sync.WaitGroup
	playing   sync.WaitGroup // what a session says
	events    record.EventBroadcaster
	closing   sync.Once

	acting  sync.Mutex // held while something is done, so that actions has the order of what was done
	mu      sync.Mutex // protects what follows
	actions []Action
}

// NewWorld starts a world whose observers report to hub, and does there what a session says. Close it.
func NewWorld(hub *look.Hub, s Session, virtual bool) (*World, error) {
	options := s.Options
	if err := options.validate(); err != nil {
		return nil, err
	}
	w := &World{hub: hub, virtual: virtual, options: options, actions: []Action{}}
	w.backend = newBackend(hub, options, virtual)
	if options.Beside {
		w.beside = w.newBeside()
		w.backend.beside = w.beside
	}
	w.ctx, w.end = context.WithCancel(context.Background())
	if err := w.assemble(); err != nil {
		return nil, err
	}
	w.playing.Go(func() { w.play(s) })
	return w, nil
}

// config is for clients of the server. Those of the pipeline are observed.
func (w *World) config(pipeline bool) *rest.Config {
	c := &rest.Config{Host: "http://lens.invalid", Dial: w.backend.dial, QPS: -1, UserAgent: "glasswatch-lens-acts"}
	if pipeline {
		c.UserAgent = pipelineAgent
		c.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
			return &look.Transport{Next: next, Hub: w.hub, Kinds: kindOf, Patient: true}
		}
	}
	return c
}

// assemble makes the layers and starts them.
func (w *World) assemble() error {
	cfg := w.config(true)
	client, err := networkingv1client.NewForConfig(cfg)
	if err != nil {
		return err
	}
	events, err := typedcorev1.NewForConfig(w.config(false))
	if err != nil {
		return err
	}
	if w.acts, err = newActor(w.config(false), w.options.Seed); err != nil {
		return err
	}
	w.services, err = newInformer[*corev1.Service](w, cfg, corev1.SchemeGroupVersion.WithResource("services"))
	if err != nil {
		return err
	}
	gvr := networkingv1.SchemeGroupVersion.WithResource("ingresses")
	if w.ingresses, err = newInformer[*networkingv1.Ingress](w, cfg, gvr); err != nil {
		return err
	}
	w.events = record.NewBroadcaster()
	recorder := w.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: ingress.FieldManager})
	rules := ingress.Config{
		AnnotationPrefix: ingress.DefaultAnnotationPrefix, Class: ingress.DefaultClass, Host: ingress.DefaultHost,
	}
	reconciler, err := ingress.NewReconciler(rules, w.services.Store(), w.ingresses.Store(), client, recorder)
	if err != nil {
		return err
	}
	w.loop = controller.New[listwatch.Key](reconciler, controller.Options[listwatch.Key]{
		Name: "ingress", Workers: w.options.Workers, DrainTimeout: -1,
		Observe: func(o controller.Observation[listwatch.Key]) { w.hub.Report(look.OfController(o)) },
	})
	if err := errors.Join(addHandlers(w, w.services), addHandlers(w, w.ingresses)); err != nil {
		return err
	}
	w.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: events.Events("")})
	w.running.Go(func() { w.backend.run(w.ctx) })
	for _, run := range []func(context.Context) error{w.services.Run, w.ingresses.Run} {
		w.running.Go(func() { _ = run(w.ctx) }) // the error is for a second Run
	}
	w.running.Go(func() { _ = w.loop.Run(w.ctx) }) // nothing is drained
	if w.beside != nil {
		return w.runBeside()
	}
	return nil
}

// Close ends the world, and returns when its goroutines have ended. It opens the gate.
func (w *World) Close() { w.closing.Do(w.close) }

func (w *World) close() {
	w.hub.Close()
	for name := range w.backend.faults.all() {
		w.backend.faults.set(look.Fault{Name: name})
	}
	w.end()
	w.playing.Wait()
	_ = w.acts.storm(Storm{}) // ends the one that there is
	w.running.Wait()
	w.events.Shutdown()
}

// byApp files objects by their label app. Unlike a namespace, an update may change it.
func byApp[T listwatch.Object](obj T, dst []string) ([]string, error) {
	if app := obj.GetLabels()["app"]; app != "" {
		dst = append(dst, app)
	}
	return dst, nil
}

// newInformer makes an informer that reports what passes.
func newInformer[T listwatch.Object](
	w *World, cfg *rest.Config, gvr schema.GroupVersionResource,
) (*look.Observed[T], error) {
	lw, err := listwatch.NewForConfig[T](cfg, gvr, listwatch.Options{Decoder: memo.New(memo.Options{})})
	if err != nil {
		return nil, err
	}
	opts := sharedinformer.Options[T]{
		Name: gvr.Resource, Resource: gvr.GroupResource(),
		ResyncPeriod: time.Duration(w.options.Resync) * time.Millisecond,
		Indexers:     indexer.Indexers[T]{"app": byApp[T]},
	}
	if w.options.Queue == "perkey" {
		opts.Queue = sharedinformer.PerKey
	}
	opts.Reflector = reflector.Options{
		DisableStreamingList: w.options.Paged,
		// Nobody wants to wait for more. Without jitter a session can be played again.
		Backoff: reflector.Backoff{Base: 200 * time.Millisecond, Max: 2 * time.Second, Jitter: -1},
		// While something is parked, neither side gives up.
		SilenceTimeout: time.Hour, MinWatchTimeout: time.Hour,
	}
	return look.At(listwatch.ListerWatcher[T](lw), kindOf[gvr.Resource], opts, w.hub.Report), nil
}

// addHandlers registers the handlers.
func addHandlers[T listwatch.Object](w *World, in *look.Observed[T]) error {
	handlerPace := time.Duration(0)
	if w.virtual {
		handlerPace = pace[in.Kind]
	}
	add := func(name string, handler sharedinformer.Handler[T]) error {
		registration, err := in.AddHandler(handler, sharedinformer.HandlerOptions{Name: name})
		if name == comparer {
			w.compared = append(w.compared, registration)
		}
		return err
	}
	err := errors.Join(
		add(enqueuer, faulty(controller.EnqueueObject[T](w.loop), enqueuer, w.backend.faults, handlerPace)),
		add(auditor, faulty[T](sharedinformer.HandlerFuncs[T]{}, auditor, w.backend.faults, handlerPace)),
	)
	if w.beside != nil {
		err = errors.Join(err, add(comparer, beside.Handler[T](w.beside, in.Kind)))
	}
	return err
}

// view is what a stream has of this world.
func (w *World) view() *look.View {
	return &look.View{
		Options: w.options, Loop: w.loop, Workers: w.options.Workers, Enqueuer: enqueuer,
		Informers: map[string]look.Informer{"services": w.services, "ingresses": w.ingresses},
		Server: func() *look.ServerState {
			server := w.backend.server
			return &look.ServerState{
				Up: !w.backend.faults.isOn("stop"), Revision: server.Revision(), Watches: server.Faults().Watches(),
			}
		},
		Add: func(n *look.News) {
			n.Faults = w.backend.faults.all()
			if w.beside != nil {
				n.Beside = w.beside.Counts()
			}
		},
	}
}
