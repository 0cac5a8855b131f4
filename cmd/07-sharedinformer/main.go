// Command 07-sharedinformer tells many handlers of one watch: late ones, slow ones, and those that want to hear it again.
package main

import (
	"context"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/cmd/internal/demo"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/factory"
	"glasswatch/sharedinformer/transform"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "07-sharedinformer", Title: "One watch, many handlers",
	Layer: "sharedinformer/fanout.go", Next: "docs/learn/tour.md, chapter 6",
	Tell: demo.Steps(many, slow, relist, resync, synced, fromFactory, oneType)}

type informer = sharedinformer.Informer[*corev1.ConfigMap]
type options = sharedinformer.HandlerOptions

func newInformer(d *demo.Demo, group string, resync time.Duration) *informer {
	return sharedinformer.New(d.ConfigMaps(group), sharedinformer.Options[*corev1.ConfigMap]{ResyncPeriod: resync,
		Reflector: reflector.Options{Backoff: reflector.Backoff{Base: 100 * time.Millisecond, Jitter: -1}}})
}

func run(ctx context.Context, d *demo.Demo, i *informer) {
	d.Go(ctx, func(ctx context.Context) { _ = i.Run(ctx) }) // an error would say that it was run before
}

// handler is one that does not return from a call before the story takes it: as long as the story does not, it is slow.
type handler struct {
	*demo.Handler[*corev1.ConfigMap]
	*sharedinformer.Registration
}

func add(ctx context.Context, i *informer, opts options) handler {
	h := demo.NewHandler[*corev1.ConfigMap](ctx)
	return handler{h, demo.Must(i.AddHandler(h, opts))}
}

func many(ctx context.Context, d *demo.Demo) {
	d.Step("Two handlers, and a third that comes late")
	d.Put(ctx, "many", "a")
	i := newInformer(d, "many", 0)
	one, two := add(ctx, i, options{}), add(ctx, i, options{})
	run(ctx, d, i)
	d.Saw("one: %s; two: %s", one.Take(1), two.Take(1))
	d.Did("created b, changed a; then the third came; then deleted b")
	d.Put(ctx, "many", "b", "a")
	d.Saw("one: %s; two: %s", one.Take(2), two.Take(2))
	late := add(ctx, i, options{})
	d.Saw("late: %s", late.Take(2))
	d.Remove(ctx, "b")
	d.Saw("one: %s; two: %s; late: %s", one.Take(1), two.Take(1), late.Take(1))
	d.Saw("%s", d.Watches())
	d.Why("a handler that comes late is given the present from the store, as adds, then the same as the others: nothing twice or lost")
}

func slow(ctx context.Context, d *demo.Demo) {
	d.Step("A slow handler, and a slow one that folds")
	d.Put(ctx, "slow", "c")
	i := newInformer(d, "slow", 0)
	quick, slow, folds := add(ctx, i, options{}), add(ctx, i, options{}), add(ctx, i, options{Fold: true})
	run(ctx, d, i)
	d.Saw("quick: %s; slow: %s; folds: %s", quick.Take(1), slow.Take(1), folds.Take(1))
	d.Put(ctx, "slow", "c")
	folds.Await(2) // it is at its second call now
	d.Put(ctx, "slow", slices.Repeat([]string{"c"}, 49)...)
	d.Did("changed c 50 times, while slow and folds are at their first change")
	d.Saw("quick: %s", quick.Take(50))
	d.Saw("waiting, the one it is at included: slow %d, folds %d", slow.Stats().Depth, folds.Stats().Depth)
	d.Saw("slow:  %s; folds: %s", slow.Take(50), folds.Take(2))
	d.Why("each has a backlog of its own and holds up nobody. One that folds holds an object once: from what it was told to the newest")
}

func relist(ctx context.Context, d *demo.Demo) {
	if faults := d.FaultStep("A relist: the server is asked again"); faults != nil {
		d.Put(ctx, "again", "e", "f")
		i := newInformer(d, "again", 0)
		h := add(ctx, i, options{})
		run(ctx, d, i)
		d.Saw("%s", h.Take(2))
		d.Tape.Rewind()
		d.EndWatches(ctx, faults.ExpireWatches)
		told := h.Take(2)
		requests, _ := d.Tape.Rewind()
		d.Saw("after a 410: %s; requests %d", told, requests)
		d.Why("a list says all there is, so even a handler without resyncs hears it; and it finds what a watch missed. The server pays")
	}
}

func resync(ctx context.Context, d *demo.Demo) {
	d.Step("A resync: nobody is asked")
	d.Put(ctx, "again", "e", "f")
	i := newInformer(d, "again", time.Second)
	h, never := add(ctx, i, options{}), add(ctx, i, options{ResyncPeriod: sharedinformer.NoResync})
	run(ctx, d, i)
	d.Saw("every second: %s; never: %s", h.Take(2), never.Take(2))
	d.Tape.Rewind()
	told := h.Take(2)
	requests, _ := d.Tape.Rewind()
	d.Saw("every second: %s; never: %d calls; requests %d", told, never.Begun()-2, requests)
	d.Why("it comes from the store, to those who want it, and finds nothing. It is for handlers whose work outside may have been undone")
}

func synced(ctx context.Context, d *demo.Demo) {
	d.Step("Synced: the store has the list. Handler-synced: the handler has been given it")
	i := newInformer(d, "again", 0)
	h := add(ctx, i, options{})
	run(ctx, d, i)
	demo.Check(i.WaitForSync(ctx))
	d.Saw("informer synced %t, objects in the store %d; handler synced %t, calls it has returned from %d",
		i.HasSynced(), i.Store().Len(), h.HasSynced(), h.Stats().Delivered)
	told := h.Take(2)
	demo.Check(h.WaitForSync(ctx))
	d.Saw("%s; handler synced %t", told, h.HasSynced())
	d.Why("whoever works on what the handler was told waits for the handler")
}

func fromFactory(ctx context.Context, d *demo.Demo) {
	d.Step("A factory: one informer a type, and options for all")
	d.Put(ctx, "sold", "g")
	d.Put(ctx, "kept", "h")
	f := factory.New(d.Config, factory.Options{
		Namespace:        d.Namespace,
		TweakListOptions: func(opts *metav1.ListOptions) { opts.LabelSelector = "group=sold" },
		Transform:        transform.StripManagedFields[listwatch.Object],
		Resync:           map[reflect.Type]time.Duration{reflect.TypeFor[*corev1.ConfigMap](): time.Second},
	})
	i := demo.Must(factory.InformerFor[*corev1.ConfigMap](f))
	h := add(ctx, i, options{})
	d.Go(ctx, func(ctx context.Context) { f.Start(ctx); <-ctx.Done(); f.Shutdown() })
	d.Saw("asked for twice it is the same: %t; %s", demo.Must(factory.InformerFor[*corev1.ConfigMap](f)) == i, h.Take(1))
	d.Sent("%s", d.Curl(d.Tape.Last()))
	d.Why("Namespace is in the path, TweakListOptions made the selector: h is not sent at all")
	stored := demo.Must(d.Client.CoreV1().ConfigMaps(d.Namespace).Get(ctx, "g", metav1.GetOptions{}))
	cached := demo.Must(i.Lister().Namespace(d.Namespace).Get("g"))
	d.Saw("managedFields of g: server %d, store %d: Transform comes in between", len(stored.ManagedFields), len(cached.ManagedFields))
	d.Saw("ConfigMaps are resynced each second: %s", h.Take(1))
}
