package demo

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/listwatch"
)

// LabelGroup is on the ConfigMaps that Put writes, so that each step of a demo can select its own.
const LabelGroup = "group"

// Put writes ConfigMaps of these names into the namespace, in this order and with that value of LabelGroup: each is created,
// or changed to another version. It returns the last one, and ends the story if it cannot.
func (d *Demo) Put(ctx context.Context, group string, names ...string) (last *corev1.ConfigMap) {
	maps := d.Client.CoreV1().ConfigMaps(d.Namespace)
	for _, name := range names {
		d.puts++
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{LabelGroup: group}},
			Data:       map[string]string{"write": strconv.Itoa(d.puts)}, // an update without a change is not a write
		}
		stored, err := maps.Update(ctx, object, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			stored, err = maps.Create(ctx, object, metav1.CreateOptions{})
		}
		last = Must(stored, err)
	}
	return last
}

// Versions are the resourceVersions, by their names, of the ConfigMaps that the server has of a group.
func (d *Demo) Versions(ctx context.Context, group string) map[string]string {
	versions := map[string]string{}
	opts := metav1.ListOptions{LabelSelector: LabelGroup + "=" + group}
	for _, object := range Must(d.Client.CoreV1().ConfigMaps(d.Namespace).List(ctx, opts)).Items {
		versions[object.Name] = object.ResourceVersion
	}
	return versions
}

// Remove deletes ConfigMaps that Put wrote.
func (d *Demo) Remove(ctx context.Context, names ...string) {
	for _, name := range names {
		Check(d.Client.CoreV1().ConfigMaps(d.Namespace).Delete(ctx, name, metav1.DeleteOptions{}))
	}
}

// ConfigMaps is listwatch's client for the ConfigMaps of a group in the namespace; "" is all of them.
func (d *Demo) ConfigMaps(group string) *listwatch.Client[*corev1.ConfigMap] {
	opts := listwatch.Options{Namespace: d.Namespace}
	if group != "" {
		opts.LabelSelector = LabelGroup + "=" + group
	}
	return Must(listwatch.NewForConfig[*corev1.ConfigMap](d.Config, corev1.SchemeGroupVersion.WithResource("configmaps"), opts))
}

// SawEvent prints an event of a watch. typ is its type, of either package.
func (d *Demo) SawEvent(typ any, object metav1.Object) {
	d.Saw("%-8s %-3s resourceVersion %s", typ, object.GetName(), object.GetResourceVersion())
}

// Watch is client-go's watch of the namespace's ConfigMaps.
type Watch struct {
	watch.Interface
	demo *Demo
}

// Watch opens a watch and prints the command that does the same. It is stopped at the end of the story at the latest.
func (d *Demo) Watch(ctx context.Context, opts metav1.ListOptions) *Watch {
	w := Must(d.Client.CoreV1().ConfigMaps(d.Namespace).Watch(ctx, opts))
	d.Cleanup(func(context.Context) error { w.Stop(); return nil })
	d.Sent("%s", d.Curl(d.Tape.Last()))
	return &Watch{w, d}
}

// Next waits for the next event. The end of the channel ends the story.
func (w *Watch) Next() watch.Event {
	event, ok := <-w.ResultChan()
	if !ok {
		Check(errors.New("the watch ended, want an event"))
	}
	return event
}

// Expect waits for n events of ConfigMaps and prints them. Other events end the story.
func (w *Watch) Expect(n int) {
	for range n {
		event := w.Next()
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			Check(fmt.Errorf("want a ConfigMap, got %v", event))
		}
		w.demo.SawEvent(event.Type, object)
	}
}

// ExpectBookmark waits for a bookmark at or after a resourceVersion, "" for any, and returns it. An event before it ends the
// story.
func (w *Watch) ExpectBookmark(after string) *corev1.ConfigMap {
	for {
		event := w.Next()
		bookmark, ok := event.Object.(*corev1.ConfigMap)
		if !ok || event.Type != watch.Bookmark {
			Check(fmt.Errorf("want a bookmark, got %v", event))
		}
		if after == "" || Must(resourceversion.CompareResourceVersion(bookmark.ResourceVersion, after)) >= 0 {
			return bookmark
		}
	}
}

// Expect waits for n events of a stream and prints them. An error ends the story.
func Expect[T listwatch.Object](d *Demo, stream listwatch.Stream[T], n int) {
	for range n {
		event := Must(stream.Next())
		d.SawEvent(event.Type, event.Object)
	}
}
