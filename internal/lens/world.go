package lens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"glasswatch/controller"
	"glasswatch/controller/ingress"
	"glasswatch/internal/apiserver"
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

// World is what is looked at: an API server, two informers and the ingress controller.
type World struct {
	*pipeline
	options    Options
	virtual    bool // in a testing/synctest bubble, in which a handler takes some time: see pace
	server     *apiserver.Server
	listener   *apiserver.PipeListener
	faults     *faults
	services   *look.Observed[*corev1.Service]
	ingresses  *look.Observed[*networkingv1.Ingress]
	reconciler *ingress.Reconciler
	beside     *beside.Beside // nil if client-go's informers do not run
	playing    sync.WaitGroup // what a session says
	closing    sync.Once

	mu      sync.Mutex // protects what follows, and is held while something is done
	actions []Action
	// recorded is what is shown of another program; nil in a world that runs.
	recorded []look.Event
}

// NewWorld makes a world whose observers report to hub. Start it, and close it.
func NewWorld(hub *look.Hub, options Options, virtual bool) (*World, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	w := &World{options: options, virtual: virtual, listener: apiserver.NewPipeListener(), faults: newFaults(), actions: []Action{}}
	w.server = w.newServer()
	reconcile := func(ctx context.Context, key listwatch.Key) (controller.Result, error) {
		return w.reconciler.Reconcile(ctx, key)
	}
	var err error
	if w.pipeline, err = newPipeline(hub, w.config("lens-acts"), options.Seed, options.Workers, reconcile); err != nil {
		return nil, err
	}
	w.view.Options, w.view.Add, w.strike, w.acts.force = options, w.tell, w.takeTime, true
	cfg := w.watch(w.config(pipelineAgent), kindOf, true)
	w.services, err = newInformer[*corev1.Service](w, cfg, corev1.SchemeGroupVersion.WithResource("services"))
	if err != nil {
		return nil, err
	}
	gvr := networkingv1.SchemeGroupVersion.WithResource("ingresses")
	if w.ingresses, err = newInformer[*networkingv1.Ingress](w, cfg, gvr); err != nil {
		return nil, err
	}
	client, err := networkingv1client.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	rules := ingress.Config{
		AnnotationPrefix: ingress.DefaultAnnotationPrefix, Class: ingress.DefaultClass, Host: ingress.DefaultHost,
	}
	nobody := &record.FakeRecorder{} // Events are not looked at
	w.reconciler, err = ingress.NewReconciler(rules, w.services.Store(), w.ingresses.Store(), client, nobody)
	if err != nil {
		return nil, err
	}
	w.reconciler.Observe(hub.Report)
	if options.Beside {
		err = w.addBeside()
	}
	return w, err
}

// config is for clients of the server, which knows them by their names.
func (w *World) config(agent string) *rest.Config {
	return &rest.Config{Host: "http://lens.invalid", Dial: w.dial, QPS: -1, UserAgent: agent}
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
		Resource: gvr.GroupResource(), ResyncPeriod: time.Duration(w.options.Resync) * time.Millisecond,
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
	return addInformer(w.pipeline, listwatch.ListerWatcher[T](lw), kindOf[gvr.Resource], opts, w.report)
}

// pace is how long a call of a handler takes in virtual time. Two handlers that would queue a key at the same moment
// then always do it in the same order. No multiple of one is soon one of the other, or of a millisecond.
var pace = map[string]time.Duration{"Service": 1_009_013, "Ingress": 1_621_031}

// takeTime makes a handler slow, or panic, when a fault wants it.
func (w *World) takeTime(kind, handler string) {
	if w.virtual {
		time.Sleep(pace[kind])
	}
	w.faults.strike(handler)
}

// report takes what an informer reports.
func (w *World) report(events ...look.Event) {
	w.hub.Report(events...)
	if w.beside != nil && len(events) == 1 && events[0].At == look.Called && events[0].Handler == auditor {
		w.beside.Record(beside.Ours, events[0])
	}
}

// Start runs the world, and does there what a session says.
func (w *World) Start(s Session) {
	if len(s.Recorded) > 0 {
		w.show(s.Recorded)
		return
	}
	w.start()
	w.serve()
	if w.beside != nil {
		w.running.Go(func() { w.beside.Run(w.ctx) })
	}
	w.playing.Go(func() { w.play(s) })
}

// Close ends the world, and returns when its goroutines have ended. It opens the gate.
func (w *World) Close() { w.closing.Do(w.close) }

func (w *World) close() {
	w.hub.Close()
	for name := range w.faults.all() {
		w.faults.set(look.Fault{Name: name})
	}
	w.end()
	w.playing.Wait()
	_, _ = w.acts.storm(w.ctx, Storm{}) // ends the one that there is
	w.running.Wait()
}

// tell adds what only a world knows.
func (w *World) tell(n *look.News) {
	n.State.Server = &look.ServerState{
		Up: !w.faults.isOn("stop"), Revision: w.server.Revision(), Watches: w.server.Faults().Watches(),
	}
	n.Faults = w.faults.all()
	if w.beside != nil {
		n.Beside = w.beside.Counts()
	}
}

var errNotBeside = errors.New("client-go's informers do not run in this world: act beside")

// addBeside makes client-go's informers.
func (w *World) addBeside() error {
	w.beside = beside.New(beside.Options{
		Resync: time.Duration(w.options.Resync) * time.Millisecond,
		Paged:  w.options.Paged,
		Ours:   w.view.Informers,
		Before: func() { w.faults.strike(auditor) },
		Busy: func() bool {
			on := w.faults.all()
			isOpen := w.server.Faults().Watches() == 4
			return !isOpen || w.hub.Stepping() || on["delay"].On || isFor(on["slow"], auditor)
		},
		Changed: w.hub.Wake,
	})
	cfg := w.config(besideAgent)
	services, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		return err
	}
	ingresses, err := networkingv1client.NewForConfig(cfg)
	if err != nil {
		return err
	}
	return errors.Join(
		w.beside.AddKind("Service", "services", &corev1.Service{}, services.RESTClient()),
		w.beside.AddKind("Ingress", "ingresses", &networkingv1.Ingress{}, ingresses.RESTClient()))
}
