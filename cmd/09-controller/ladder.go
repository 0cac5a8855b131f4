package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"glasswatch/cmd/internal/demo"
	"glasswatch/deltafifo"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

type configMap = corev1.ConfigMap

func ladder(ctx context.Context, d *demo.Demo) {
	d.Step("A ladder of seven rungs: each does what the one below lacks")
	d.Put(ctx, "ladder", "a")
	rungs := []struct {
		name, lacks string
		climb       func(ctx context.Context, d *demo.Demo) string
	}{
		{"ListWatch", "nobody watches again, and what happens meanwhile is missed", listAndWatch},
		{"Reflector", "the one who is told holds up the watch", reflect},
		{"DeltaFIFO", "what was popped is gone: nobody can ask what there is", wait},
		{"Indexer", "nobody is told of a change", ask},
		{"SharedInformer", "a handler that fails is not called again", tellAll},
		{"workqueue", "who takes the keys, survives a panic and ends in order?", again},
		{"controller", "what to do: that is Reconcile, and yours", reconcile},
	}
	for n, rung := range rungs {
		d.Saw("%d %-14s  %s\n  lacks: %s", n+1, rung.name, rung.climb(ctx, d), rung.lacks)
	}
	d.Why("one may stop at any rung: a script lists, a cache needs no queue")
}

func listAndWatch(ctx context.Context, d *demo.Demo) string {
	client := d.ConfigMaps("ladder")
	list := demo.Must(listwatch.ListAll(ctx, client, metav1.ListOptions{}, 0))
	opts := metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: new(int64(1))}
	stream := demo.Must(client.Watch(ctx, opts))
	defer stream.Close()
	d.Put(ctx, "ladder", "a")
	event := demo.Must(stream.Next())
	_, err := stream.Next()
	return fmt.Sprintf("listed %d, then %s %s, then the end: %t", len(list.Items), event.Type, event.Object.Name, errors.Is(err, io.EOF))
}

// names is a sink that keeps the names of the objects.
type names struct {
	mu  sync.Mutex // protects all
	all map[string]bool
}

func (n *names) set(name string, there bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all[name] = there
	return nil
}

func (n *names) Add(object *configMap) error       { return n.set(object.Name, true) }
func (n *names) Update(object *configMap) error    { return n.set(object.Name, true) }
func (n *names) Delete(object *configMap) error    { return n.set(object.Name, false) }
func (n *names) DeleteKey(key listwatch.Key) error { return n.set(key.Name, false) }
func (n *names) Bookmark(string) error             { return nil }

func (n *names) Replace(objects []*configMap, _ []listwatch.Key, _ string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = map[string]bool{}
	for _, object := range objects {
		n.all[object.Name] = true
	}
	return nil
}

func (n *names) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[name]
}

func reflect(ctx context.Context, d *demo.Demo) string {
	sink := &names{}
	r := reflector.New(d.ConfigMaps("ladder"), sink, reflector.Options{})
	stop := d.Go(ctx, r.Run)
	demo.Until(ctx, "a is there", func() bool { return sink.has("a") })
	stop()
	d.Put(ctx, "ladder", "b")
	d.Remove(ctx, "a")
	defer d.Go(ctx, r.Run)()
	demo.Until(ctx, "b is there, and a is not", func() bool { return sink.has("b") && !sink.has("a") })
	return "came back, and found that b had come and a had gone"
}

func wait(ctx context.Context, d *demo.Demo) string {
	queue := deltafifo.NewInOrder(deltafifo.Options[listwatch.Key, *configMap]{
		KeyFunc: func(object *configMap) (listwatch.Key, error) { return listwatch.KeyOf(object), nil }})
	r := reflector.New(d.ConfigMaps("ladder"), queue, reflector.Options{})
	stop := d.Go(ctx, r.Run)
	demo.Until(ctx, "it watches", func() bool { return r.State() == reflector.Watching })
	last := d.Put(ctx, "ladder", "b", "b", "b").ResourceVersion
	demo.Until(ctx, "all have come", func() bool { // a bookmark, or another list, may be further on already
		return demo.Must(resourceversion.CompareResourceVersion(r.LastSyncResourceVersion(), last)) >= 0
	})
	stop()
	queue.Close()
	var popped []string
	for queue.Pop(func(x deltafifo.Delta[listwatch.Key, *configMap], _ bool) error {
		if x.Type != deltafifo.Bookmark {
			popped = append(popped, fmt.Sprint(x.Type))
		}
		return nil
	}) == nil {
	}
	return "kept, while nobody took it: " + strings.Join(popped, ", ")
}
