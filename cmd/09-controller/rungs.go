package main

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/cmd/internal/demo"
	loop "glasswatch/controller"
	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	"glasswatch/workqueue"
)

// These are the upper rungs of the ladder.

func ask(ctx context.Context, d *demo.Demo) string {
	d.Put(ctx, "ladder", "c")
	store := indexer.New(indexer.Options[string, *configMap]{
		KeyFunc: func(object *configMap) (string, error) { return object.Name, nil },
		Indexers: indexer.Indexers[*configMap]{"group": func(object *configMap, dst []string) ([]string, error) {
			return append(dst, object.Labels[demo.LabelGroup]), nil
		}}})
	list := demo.Must(listwatch.ListAll(ctx, d.ConfigMaps("ladder"), metav1.ListOptions{}, 0))
	demo.Check(store.Replace(list.Items, list.ResourceVersion))
	_, found := store.GetByKey("b")
	of := demo.Must(store.IndexKeys("group", "ladder"))
	slices.Sort(of)
	return fmt.Sprintf("b is there: %t; of the group: %v; without a request", found, of)
}

func tellAll(ctx context.Context, d *demo.Demo) string {
	informer := sharedinformer.New(d.ConfigMaps("ladder"), sharedinformer.Options[*configMap]{})
	one, two := demo.NewHandler[*configMap](ctx), demo.NewHandler[*configMap](ctx)
	for _, handler := range []*demo.Handler[*configMap]{one, two} {
		demo.Must(informer.AddHandler(handler, sharedinformer.HandlerOptions{}))
	}
	defer d.Go(ctx, func(ctx context.Context) { _ = informer.Run(ctx) })()
	return fmt.Sprintf("one: %s; two: %s", one.Take(2), two.Take(2))
}

func again(_ context.Context, _ *demo.Demo) string {
	queue := workqueue.NewRateLimiting(workqueue.Options[string]{})
	defer queue.ShutDown()
	for range 3 {
		queue.Add("b")
	}
	waiting := queue.Len()
	key, _ := queue.Get()
	queue.AddRateLimited(key) // it failed
	queue.Done(key)
	key, _ = queue.Get()
	queue.Done(key)
	return fmt.Sprintf("b added 3 times waits %d time; failed, it came again after a while, retry %d", waiting, queue.NumRequeues(key))
}

func reconcile(ctx context.Context, d *demo.Demo) string {
	calls, done := 0, make(chan struct{})
	c := loop.New(loop.Func[string](func(context.Context, string) (loop.Result, error) {
		calls++
		if calls == 1 {
			panic("a bug")
		}
		close(done)
		return loop.Result{}, nil
	}), loop.Options[string]{})
	stop := d.Go(ctx, func(ctx context.Context) { _ = c.Run(ctx) })
	c.Enqueue("b")
	select {
	case <-done:
	case <-ctx.Done():
		demo.Check(ctx.Err())
	}
	stop()
	return fmt.Sprintf("b reconciled %d times, the first panicked; then it was stopped, and had drained", calls)
}
