package chaos

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	compat "glasswatch/compat/cache"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/checkpoint"
	"glasswatch/tests/chaos/proxy"
)

// informer is what is tried.
type informer interface {
	// Run blocks until ctx ends.
	Run(ctx context.Context)
	Add(r *recorder, opts sharedinformer.HandlerOptions) (registration, error)
	Remove(r registration) error
	HasSynced() bool
	Store() map[listwatch.Key]state
	// Stats has what is known of the insides.
	Stats() sharedinformer.Stats
	LastError() error
	// Checkpoint is the zero value for those that keep none.
	Checkpoint() checkpoint.Stats
}

type registration interface {
	HasSynced() bool
	Done() <-chan struct{}
	Stats() sharedinformer.HandlerStats
}

// resyncPeriod is no whole number of seconds, so that resyncs fall between other things.
const resyncPeriod = 37*time.Second + 13*time.Millisecond

// newInformer makes what the schedule tries.
func newInformer(w *world) (informer, error) {
	config, s := rest.CopyConfig(w.config), w.s
	config.ContentType = runtime.ContentTypeJSON
	if s.protobuf {
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	if s.facade {
		return newFacade(w, config)
	}
	return newNative(w, config)
}

type native struct {
	*sharedinformer.Informer[object]
	kept *checkpoint.Informer[object] // the same, if it keeps a checkpoint
}

func newNative(w *world, config *rest.Config) (informer, error) {
	s := w.s
	lwOpts := listwatch.Options{Namespace: w.scope}
	if s.smallFrames {
		lwOpts.MaxFrameSize = proxy.Padding / 2
	}
	lw, err := listwatch.NewForConfig[object](config, corev1.SchemeGroupVersion.WithResource("configmaps"), lwOpts)
	if err != nil {
		return nil, err
	}
	opts := sharedinformer.Options[object]{Queue: s.queue, WatchErrorHandler: w.failed}
	opts.Reflector.DisableStreamingList = !s.streaming
	opts.Reflector.StreamingRetry = 2 * time.Minute
	if w.pace > 1 { // time is real
		opts.Reflector.StreamingRetry = time.Second
		opts.Reflector.SilenceTimeout = time.Second
		opts.Reflector.Backoff = reflector.Backoff{Base: 20 * time.Millisecond, Max: 200 * time.Millisecond}
	}
	if s.pages {
		opts.Reflector.PageSize = 3
	}
	if s.resync {
		opts.ResyncPeriod = resyncPeriod
	}
	if !s.checkpoint {
		return native{sharedinformer.New(lw, opts), nil}, nil
	}
	kept, err := checkpoint.New(lw, opts, checkpoint.Options{
		Path: w.disk.path, Cluster: "chaos", Interval: 5 * time.Second / w.pace,
	})
	if err != nil {
		return nil, err
	}
	return native{kept.Informer, kept}, nil
}

func (n native) Checkpoint() checkpoint.Stats {
	if n.kept == nil {
		return checkpoint.Stats{}
	}
	return n.kept.Checkpoint()
}

func (n native) Run(ctx context.Context) { _ = n.Informer.Run(ctx) }

func (n native) Add(r *recorder, opts sharedinformer.HandlerOptions) (registration, error) {
	return n.AddHandler(nativeHandler{r}, opts)
}

func (n native) Remove(r registration) error {
	return n.RemoveHandler(r.(*sharedinformer.Registration))
}

func (n native) Store() map[listwatch.Key]state {
	all := map[listwatch.Key]state{}
	for key, obj := range n.Informer.Store().Snapshot().All() {
		all[key] = stateOf(obj)
	}
	return all
}

type facade struct{ compat.SharedIndexInformer }

// pagedOnly says of itself that it cannot stream lists.
type pagedOnly struct{ *clientgo.ListWatch }

func (pagedOnly) IsWatchListSemanticsUnSupported() bool { return true }

func newFacade(w *world, config *rest.Config) (informer, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	maps := client.CoreV1().ConfigMaps(w.scope)
	listWatch := &clientgo.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return maps.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(ctx, opts)
		},
	}
	var lw compat.ListerWatcher = listWatch
	if !w.s.streaming {
		lw = pagedOnly{listWatch}
	}
	informer := compat.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, compat.Indexers{})
	return facade{informer}, informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *compat.Reflector, err error) {
		w.failed(ctx, err)
	})
}

func (f facade) Run(ctx context.Context) { f.RunWithContext(ctx) }

func (f facade) Add(r *recorder, opts sharedinformer.HandlerOptions) (registration, error) {
	bounded := f.SharedIndexInformer.(interface {
		AddBoundedEventHandler(compat.ResourceEventHandler, sharedinformer.HandlerOptions) (compat.ResourceEventHandlerRegistration, error)
	})
	reg, err := bounded.AddBoundedEventHandler(facadeHandler{nativeHandler{r}}, opts)
	if err != nil {
		return nil, err
	}
	return reg.(registration), nil
}

func (f facade) Remove(r registration) error {
	return f.RemoveEventHandler(r.(compat.ResourceEventHandlerRegistration))
}

func (f facade) Store() map[listwatch.Key]state {
	all := map[listwatch.Key]state{}
	for _, obj := range f.GetStore().List() {
		all[listwatch.KeyOf(obj.(object))] = stateOf(obj.(object))
	}
	return all
}

// Stats has nothing of the queue: the facade does not show it.
func (f facade) Stats() sharedinformer.Stats { return sharedinformer.Stats{} }

func (f facade) LastError() error { return nil }

func (f facade) Checkpoint() checkpoint.Stats { return checkpoint.Stats{} }
