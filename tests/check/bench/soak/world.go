package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/controller"
	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/checkpoint"
)

type object = *corev1.ConfigMap

// history is how many changes the server remembers for new watches. With 4,096 more for those that run, it is full before
// the second half of a soak begins: till then it makes the heap grow.
const history = 4000

// world is all that runs: the server, what writes to it and what watches it.
type world struct {
	options
	server  *apiserver.Server
	config  *rest.Config
	client  kubernetes.Interface
	closing func()

	main, kept *running
	keptPath   string
	resumed    atomic.Int64 // starts of kept from its checkpoint
	started    atomic.Int64
	controller *controller.Controller[listwatch.Key]
	controlled *view
	seen, slow *view
	hurry      atomic.Bool // the slow handler need not be slow any more
	lags       lags
	changes    atomic.Uint64
	refused    atomic.Uint64 // changes that the server did not take
	faultCount atomic.Uint64
	gate       sync.RWMutex // writers hold it for reading, who wants silence for writing

	background sync.WaitGroup // ends with the load
	foreground sync.WaitGroup // ends with stop
}

// running is an informer that runs.
type running struct {
	*sharedinformer.Informer[object]
	stop       func() // returns when it has stopped
	stopped    chan struct{}
	checkpoint func() checkpoint.Stats // nil without a checkpoint
}

// view is what a handler believes to be there: the resourceVersions by name.
type view struct {
	mu       sync.Mutex // protects versions
	versions map[string]string
}

func newView() *view { return &view{versions: map[string]string{}} }

// set takes "" for an object that is gone, and reports whether the view had it otherwise.
func (v *view) set(name, version string) (changed bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	changed = v.versions[name] != version
	if version == "" {
		delete(v.versions, name)
	} else {
		v.versions[name] = version
	}
	return changed
}

func (v *view) copy() map[string]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.versions)
}

func newWorld(ctx context.Context, o options, folder string) (*world, error) {
	w := &world{options: o, seen: newView(), slow: newView(), controlled: newView(), keptPath: filepath.Join(folder, "checkpoint")}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.server = apiserver.New(apiserver.Options{BookmarkInterval: 5 * time.Second, HistoryLimit: history})
	served, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.foreground.Go(func() { _ = w.server.Serve(served, listener) })
	w.config = w.server.RESTConfigFor(listener)
	w.config.ContentType = runtime.ContentTypeProtobuf
	w.config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	w.config.WarningHandler = rest.NoWarnings{}
	httpClient, err := rest.HTTPClientFor(w.config)
	if err == nil {
		w.client, err = kubernetes.NewForConfigAndClient(w.config, httpClient)
	}
	w.closing = func() {
		cancel()
		if httpClient != nil {
			utilnet.CloseIdleConnectionsFor(httpClient.Transport)
		}
		w.foreground.Wait()
	}
	if err != nil {
		w.closing()
	}
	return w, err
}

// stop returns when all that was started is gone.
func (w *world) stop() {
	if w.kept != nil {
		w.kept.stop()
	}
	if w.main != nil {
		w.main.stop()
	}
	w.closing()
}

// start runs the informers and the controller.
func (w *world) start() error {
	w.controller = controller.New(controller.Func[listwatch.Key](w.reconcile), controller.Options[listwatch.Key]{Name: "soak", Workers: 2})
	var err error
	if w.main, err = w.run("main", nil); err != nil {
		return err
	}
	for name, handler := range map[string]sharedinformer.Handler[object]{
		"lag": w.lags.handler(), "view": viewHandler(w.seen, nil), "slow": viewHandler(w.slow, w.dawdle),
		"controller": controller.EnqueueObject[object](w.controller),
	} {
		if _, err := w.main.AddHandler(handler, sharedinformer.HandlerOptions{Name: name, Fold: name == "slow"}); err != nil {
			return err
		}
	}
	controlling, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.controller.Run(controlling) }()
	stopMain := w.main.stop
	w.main.stop = func() { cancel(); <-done; stopMain() }
	return w.restart()
}

// run starts an informer on the objects, with a checkpoint if file is not nil.
func (w *world) run(name string, file *checkpoint.Options) (*running, error) {
	lw, err := listwatch.NewForConfig[object](w.config, corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{stopped: make(chan struct{})}
	// With the waits of client-go, which only two quiet minutes make short again, an informer that meets a fault every two
	// seconds would do little but wait.
	patience := reflector.Options{Backoff: reflector.Backoff{Base: 50 * time.Millisecond, Max: time.Second}}
	opts := sharedinformer.Options[object]{Name: name, Reflector: patience}
	if file == nil {
		r.Informer = sharedinformer.New(lw, opts)
	} else {
		kept, err := checkpoint.New(lw, opts, *file)
		if err != nil {
			cancel()
			return nil, err
		}
		r.Informer, r.checkpoint = kept.Informer, kept.Checkpoint
	}
	r.stop = func() { cancel(); <-r.stopped }
	go func() {
		defer close(r.stopped)
		_ = r.Run(ctx)
	}()
	return r, nil
}

// restart stops the informer with the checkpoint, if it runs, and starts one from the file.
func (w *world) restart() error {
	if w.kept != nil {
		if w.kept.checkpoint().Resumed != "" {
			w.resumed.Add(1)
		}
		w.kept.stop()
	}
	var err error
	w.kept, err = w.run("kept", &checkpoint.Options{Path: w.keptPath, Cluster: "soak", Interval: time.Second})
	w.started.Add(1)
	return err
}

// restarts restarts the informer with the checkpoint twelve times while the load lasts.
func (w *world) restarts(ctx context.Context) {
	tick := time.NewTicker(max(w.lasts/13, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := w.restart(); err != nil {
				panic(err) // the first start was alike, and did not fail
			}
		}
	}
}

// reconcile is the something small that the controller does.
func (w *world) reconcile(_ context.Context, key listwatch.Key) (controller.Result, error) {
	version := ""
	if obj, found := w.main.Store().GetByKey(key); found {
		version = obj.ResourceVersion
	}
	if first := w.controlled.set(key.Name, version); first && strings.HasSuffix(version, "77") {
		return controller.Result{}, fmt.Errorf("%s at %s: not at the first time", key, version) // so that there are retries
	}
	return controller.Result{}, nil
}

// dawdle is slower than the changes come.
func (w *world) dawdle() {
	if !w.hurry.Load() {
		time.Sleep(time.Millisecond)
	}
}

func viewHandler(v *view, each func()) sharedinformer.Handler[object] {
	if each == nil {
		each = func() {}
	}
	return sharedinformer.HandlerFuncs[object]{
		AddFunc:    func(obj object, _ bool) { each(); v.set(obj.Name, obj.ResourceVersion) },
		UpdateFunc: func(_, obj object) { each(); v.set(obj.Name, obj.ResourceVersion) },
		DeleteFunc: func(d sharedinformer.Deletion[object]) { each(); v.set(d.Key.Name, "") },
	}
}

// settle waits until all that watches agrees with the server, and returns what does not.
func (w *world) settle(ctx context.Context) (complaints []string) {
	w.server.Faults().Reset()
	w.hurry.Store(true)
	list, err := w.client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return []string{fmt.Sprintf("the server's list: %v", err)}
	}
	want := map[string]string{}
	for i := range list.Items {
		want[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	for name, have := range map[string]func() map[string]string{
		"the main informer's store": storeView(w.main), "the store with the checkpoint": storeView(w.kept),
		"the view of the quick handler": w.seen.copy, "the view of the slow handler": w.slow.copy, "what the controller saw": w.controlled.copy,
	} {
		if difference := eventuallySame(ctx, want, have); difference != "" {
			complaints = append(complaints, name+" is not what the server has: "+difference)
		}
	}
	return complaints
}

func storeView(r *running) func() map[string]string {
	return func() map[string]string {
		all := map[string]string{}
		for key, obj := range r.Store().Snapshot().All() {
			all[key.Name] = obj.ResourceVersion
		}
		return all
	}
}

// eventuallySame returns "" as soon as have returns want, or what is different after a minute.
func eventuallySame(ctx context.Context, want map[string]string, have func() map[string]string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		got := have()
		if maps.Equal(want, got) {
			return ""
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return firstDifference(want, got)
		}
	}
}

func firstDifference(want, got map[string]string) string {
	for name, version := range want {
		if got[name] != version {
			return fmt.Sprintf("%d objects, not %d; %s is at %q, not at %q", len(got), len(want), name, got[name], version)
		}
	}
	return fmt.Sprintf("%d objects, not %d", len(got), len(want))
}
