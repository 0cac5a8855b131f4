package sharedinformer_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// world is a cluster of pods that change, and handlers that are told of it.
type world struct {
	pods     []corev1.Pod // one version of each object after the other: the first of each are the list
	objects  int
	handlers []func(*corev1.Pod) // what each does with a version
	calls    func() uint64       // of all handlers of an informer of ours

	sent    int           // events in the windows so far
	windows int           // so far
	batch   []watch.Event // the window that is being sent: one of buffers
	buffers [4][window]watch.Event
	// answers are those of the handlers to the last event of a window; two windows wait for theirs.
	answers [2]sync.WaitGroup
}

// newWorld makes everything that events consist of before any of them is measured.
func newWorld(objects, handlers int) *world {
	w := &world{objects: objects}
	for range handlers {
		w.handlers = append(w.handlers, w.seen)
	}
	versions := max(2, 20_000/objects) // a version that is sent again has left all buffers and the store
	w.pods = make([]corev1.Pod, versions*objects)
	order := rand.New(rand.NewPCG(1, 2)).Perm(objects)
	for n := range w.pods {
		id := order[n%objects]
		w.pods[n].ObjectMeta = metav1.ObjectMeta{
			Namespace: fmt.Sprint("ns-", id%100), Name: fmt.Sprint("pod-", id), UID: "u", ResourceVersion: "1",
		}
		w.pods[n].Spec.NodeName = fmt.Sprint("node-", id/100)
	}
	w.sent = objects
	return w
}

// nextWindow waits until the last window but one has reached all handlers, and makes the next.
func (w *world) nextWindow() {
	w.answers[w.windows%2].Wait()
	w.makeWindow()
	last := w.batch[window-1].Object.(*corev1.Pod)
	last.Generation = int64(w.windows)
	w.answers[w.windows%2].Add(len(w.handlers))
}

// makeWindow makes the next events. Versions rise, as they do on a server, and cost one allocation a window.
func (w *world) makeWindow() {
	w.windows++
	const first, digits = 10_000_000, 8
	text := make([]byte, 0, window*digits)
	for n := range window {
		text = strconv.AppendInt(text, int64(first+w.sent+n), 10)
	}
	versions := string(text)
	w.batch = w.buffers[w.windows%len(w.buffers)][:]
	for n := range window {
		pod := &w.pods[w.sent%len(w.pods)]
		pod.ResourceVersion, pod.Generation = versions[n*digits:(n+1)*digits], 0
		w.batch[n] = watch.Event{Type: watch.Modified, Object: pod}
		w.sent++
	}
}

// drain waits until all handlers have seen everything.
func (w *world) drain() {
	w.answers[0].Wait()
	w.answers[1].Wait()
}

// seen answers the last event of a window.
func (w *world) seen(pod *corev1.Pod) {
	if pod.Generation != 0 {
		w.answers[pod.Generation%2].Done()
	}
}

func (w *world) tellAll(ev watch.Event) {
	pod := ev.Object.(*corev1.Pod)
	for _, seen := range w.handlers {
		seen(pod)
	}
}

// listed is the first version of each object.
func (w *world) listed() []corev1.Pod { return w.pods[:w.objects] }

// runOurs starts a typed informer. end stops it.
func (w *world) runOurs(b *testing.B, lw listwatch.ListerWatcher[*corev1.Pod], fold bool) (end func()) {
	var options sharedinformer.Options[*corev1.Pod]
	options.Reflector.DisableStreamingList = true
	options.Indexers = indexer.Indexers[*corev1.Pod]{ // beside the one by namespace, which is always there
		"node": func(pod *corev1.Pod, dst []string) ([]string, error) { return append(dst, pod.Spec.NodeName), nil },
	}
	informer := sharedinformer.New(lw, options)
	ctx, end := startRun(func(ctx context.Context) { _ = informer.Run(ctx) })
	var synced []clientgo.InformerSynced
	var registrations []*sharedinformer.Registration
	for _, seen := range w.handlers {
		r, err := informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.Pod]{
			AddFunc:    func(pod *corev1.Pod, _ bool) { seen(pod) },
			UpdateFunc: func(_, pod *corev1.Pod) { seen(pod) },
		}, sharedinformer.HandlerOptions{Fold: fold})
		if err != nil {
			b.Fatal(err)
		}
		synced = append(synced, r.HasSynced)
		registrations = append(registrations, r)
	}
	w.calls = func() (sum uint64) {
		for _, r := range registrations {
			sum += r.Stats().Delivered
		}
		return sum
	}
	awaitAll(ctx, b, synced)
	return end
}

// newInformer is client-go's NewSharedIndexInformer, and the facade's.
type newInformer func(lw clientgo.ListerWatcher, example runtime.Object, resync time.Duration, indexers clientgo.Indexers) clientgo.SharedIndexInformer

// runTheirs starts an informer of client-go's kind. end stops it.
func (w *world) runTheirs(b *testing.B, newInformer newInformer, events chan watch.Event) (end func()) {
	lw := &clientgo.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: w.listed()}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewProxyWatcher(events), nil
		},
	}
	return w.runTheirsOn(b, newInformer, lw)
}

// runTheirsOn is runTheirs on another source.
func (w *world) runTheirsOn(b *testing.B, newInformer newInformer, lw *clientgo.ListWatch) (end func()) {
	informer := newInformer(unstreamed{lw}, &corev1.Pod{}, 0, clientgo.Indexers{
		clientgo.NamespaceIndex: clientgo.MetaNamespaceIndexFunc,
		"node":                  func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	})
	ctx, end := startRun(informer.RunWithContext)
	var synced []clientgo.InformerSynced
	for _, seen := range w.handlers {
		r, err := informer.AddEventHandler(clientgo.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { seen(obj.(*corev1.Pod)) },
			UpdateFunc: func(_, obj any) { seen(obj.(*corev1.Pod)) },
		})
		if err != nil {
			b.Fatal(err)
		}
		synced = append(synced, r.HasSynced)
	}
	awaitAll(ctx, b, synced)
	return end
}

func awaitAll(ctx context.Context, b *testing.B, synced []clientgo.InformerSynced) {
	if !clientgo.WaitForCacheSync(ctx.Done(), synced...) {
		b.Fatal("the informer stopped")
	}
}

// unstreamed keeps an informer from asking for a streaming list.
type unstreamed struct{ *clientgo.ListWatch }

func (unstreamed) IsWatchListSemanticsUnSupported() bool { return true }

// watchSource is the project's own door for client-go's list and watch functions.
func watchSource(w *world, events chan watch.Event) listwatch.ListerWatcher[*corev1.Pod] {
	return listwatch.Funcs[*corev1.Pod]{
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: w.listed()}, nil
		},
		WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewProxyWatcher(events), nil
		},
	}
}

// pulled is a ListerWatcher whose only watch hands out what is decoded already.
type pulled struct {
	world   *world
	batches <-chan []watch.Event
}

func pullSource(w *world, batches <-chan []watch.Event) listwatch.ListerWatcher[*corev1.Pod] {
	return pulled{w, batches}
}

func (p pulled) List(context.Context, metav1.ListOptions) (*listwatch.List[*corev1.Pod], error) {
	list := &listwatch.List[*corev1.Pod]{ResourceVersion: "1"}
	for n := range p.world.listed() {
		list.Items = append(list.Items, &p.world.pods[n])
	}
	return list, nil
}

func (p pulled) Watch(ctx context.Context, _ metav1.ListOptions) (listwatch.Stream[*corev1.Pod], error) {
	return &pullStream{ctx: ctx, batches: p.batches}, nil
}

type pullStream struct {
	ctx     context.Context
	batches <-chan []watch.Event
	rest    []watch.Event
}

func (s *pullStream) Next() (listwatch.Event[*corev1.Pod], error) {
	var one [1]listwatch.Event[*corev1.Pod]
	_, err := s.NextBatch(one[:])
	return one[0], err
}

func (s *pullStream) NextBatch(into []listwatch.Event[*corev1.Pod]) (n int, err error) {
	for len(s.rest) == 0 {
		select {
		case s.rest = <-s.batches:
		case <-s.ctx.Done():
			return 0, io.EOF
		}
	}
	for n < min(len(into), len(s.rest)) {
		pod := s.rest[n].Object.(*corev1.Pod)
		into[n] = listwatch.Event[*corev1.Pod]{Type: listwatch.Modified, Object: pod, ResourceVersion: pod.ResourceVersion}
		n++
	}
	s.rest = s.rest[n:]
	return n, nil
}

func (s *pullStream) Close() error { return nil }
