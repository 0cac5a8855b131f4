// Command 03-watch watches: where a stream starts, which events it has, how it ends, and how to resume without a loss.
package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/cmd/internal/demo"
	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "03-watch", Title: "Streams, and how to outlive them", Layer: "listwatch/stream.go",
	Next: "docs/learn/tour.md, chapter 2", Child: worker,
	Tell: demo.Steps(starts, selectors, closes, retries, bookmarks, expires, killed, lost,
		allNamespaces, proxied)}

func starts(ctx context.Context, d *demo.Demo) {
	d.Step(`Where a watch starts: at "", at "0", at a version`)
	version := d.Put(ctx, "starts", "a").ResourceVersion
	d.Put(ctx, "starts", "b")
	d.Watch(ctx, metav1.ListOptions{LabelSelector: "group=starts"}).Expect(2)
	d.Why("what there is now, as ADDED and in no order to rely on, then what happens")
	d.Watch(ctx, metav1.ListOptions{LabelSelector: "group=starts", ResourceVersion: "0"}).Expect(2)
	d.Why("the same of some moment: the server may answer from a cache that is behind")
	d.Watch(ctx, metav1.ListOptions{LabelSelector: "group=starts", ResourceVersion: version}).Expect(1)
	d.Why("what happened after that version, be it over already: nothing twice, nothing lost")
}

func selectors(ctx context.Context, d *demo.Demo) {
	d.Step("Event types, as selectors let one see them")
	version := d.Put(ctx, "shown", "d").ResourceVersion
	w := d.Watch(ctx, metav1.ListOptions{LabelSelector: "group=shown", FieldSelector: "metadata.name=c", ResourceVersion: version})
	d.Did("created c, changed it, labelled it otherwise, labelled it back; created e; deleted c")
	d.Put(ctx, "shown", "c", "c")
	d.Put(ctx, "hidden", "c")
	d.Put(ctx, "shown", "c", "e")
	d.Remove(ctx, "c")
	w.Expect(5)
	d.Why("what leaves a selector is DELETED and what enters it is ADDED, though it was there all the time")
}

func closes(ctx context.Context, d *demo.Demo) {
	d.Step("A channel that closes, a second loop around the first, and what that loses")
	d.Put(ctx, "loop", "f", "g")
	opts := metav1.ListOptions{LabelSelector: "group=loop", TimeoutSeconds: new(int64(1))}
	w := d.Watch(ctx, opts)
	w.Expect(2)
	event, more := <-w.ResultChan()
	d.Saw("after a second: more %t, type %q, object %v, and so on for ever, for whoever goes on reading", more, event.Type, event.Object)
	d.Did("deleted f, changed g twice; the outer loop watches again")
	d.Remove(ctx, "f")
	d.Put(ctx, "loop", "g", "g")
	d.Watch(ctx, opts).Expect(1)
	d.Why("lost: that f is gone, and a version of g. Repeated: that g is there")
}

func retries(ctx context.Context, d *demo.Demo) {
	d.Step("The same with a stream that resumes where it was")
	opts := metav1.ListOptions{TimeoutSeconds: new(int64(1)), ResourceVersion: d.Put(ctx, "retry", "h").ResourceVersion}
	d.Put(ctx, "retry", "i")
	meanwhile := sync.OnceFunc(func() {
		d.Did("no watch is open: deleted h, changed i twice")
		d.Remove(ctx, "h")
		d.Put(ctx, "retry", "i", "i")
	})
	s := demo.Must(resume.NewStream(ctx, d.ConfigMaps("retry"), opts, func(error) { meanwhile() }))
	defer s.Close()
	demo.Expect(d, s, 4)
	d.Sent("%s", d.Curl(d.Tape.Last()))
	d.Why("each change, once and in order; the request is its second one")
}

func bookmarks(ctx context.Context, d *demo.Demo) {
	d.Step("Bookmarks: how far the server has looked, though nothing happened")
	d.Put(ctx, "marked", "j")
	w := d.Watch(ctx, metav1.ListOptions{LabelSelector: "group=marked", AllowWatchBookmarks: true, TimeoutSeconds: new(int64(3)),
		SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	w.Expect(1)
	d.Saw("BOOKMARK with %v: the list is complete", w.ExpectBookmark("").Annotations)
	elsewhere := d.Put(ctx, "elsewhere", "k").ResourceVersion
	w.ExpectBookmark(elsewhere) // at the latest two seconds before the server ends the watch
	d.Saw("BOOKMARK at or after resourceVersion %s, of an object that is not watched", elsewhere)
	d.Why("a watch that resumes there is not too old, however long its own objects have been quiet")
}

func expires(ctx context.Context, d *demo.Demo) {
	faults := d.FaultStep("410: the server has forgotten, and how to go on")
	if faults == nil {
		return
	}
	version := d.Put(ctx, "old", "l", "m").ResourceVersion
	d.Remove(ctx, "l")
	faults.Compact()
	err := apierrors.FromObject(d.Watch(ctx, metav1.ListOptions{LabelSelector: "group=old", ResourceVersion: version}).Next().Object)
	d.Saw("ERROR    %v; expired: %t", err, apierrors.IsResourceExpired(err))
	list := demo.Must(d.Client.CoreV1().ConfigMaps(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "group=old"}))
	d.Did("listed %d object, and watched after the list's resourceVersion", len(list.Items))
	w := d.Watch(ctx, metav1.ListOptions{LabelSelector: "group=old", ResourceVersion: list.ResourceVersion})
	d.Put(ctx, "old", "m")
	w.Expect(1)
	d.Why("no event says that l is gone: whoever had it must miss it in the list. That is what a reflector is for")
}

func killed(ctx context.Context, d *demo.Demo) {
	d.Step("Progress on disk, and kill -9")
	path := filepath.Join(d.TempDir(), "configmaps")
	first := d.Child(ctx, path)
	first.Expect(2)
	d.Put(ctx, "work", "n", "o")
	first.Tell("finish").Tell("begin").Expect(2)
	first.Kill()
	d.Did("kill -9 while it works on o, and meanwhile created p and deleted n")
	d.Put(ctx, "work", "p")
	d.Remove(ctx, "n")
	d.Child(ctx, path).Tell("finish").Tell("finish").Tell("finish").Expect(4)
	d.Why("at least once: o comes again, for nobody knows how far the work was. Nothing is skipped")
}

// worker is the other process: it does its work, and then saves its position.
func worker(ctx context.Context, d *demo.Demo, path string) error {
	cluster, client := demo.Must(resume.ClusterID(ctx, d.Config)), d.ConfigMaps("work")
	options := resume.Options{Path: path, Cluster: cluster}
	w, err := resume.NewWatch(ctx, client, metav1.ListOptions{}, options)
	if errors.Is(err, resume.ErrNoPosition) {
		list := demo.Must(listwatch.ListAll(ctx, client, metav1.ListOptions{}, 500))
		d.Line("nothing on disk: listed %d", len(list.Items))
		w, err = resume.NewWatch(ctx, client, metav1.ListOptions{ResourceVersion: list.ResourceVersion}, options)
	}
	demo.Check(err)
	d.Line("resumes after resourceVersion %s", w.Position())
	for stdin := bufio.NewScanner(os.Stdin); stdin.Scan(); { // the pace is the other process's
		event := demo.Must(w.Next())
		if stdin.Text() == "begin" {
			d.Line("works on %s %s", event.Type, event.Object.Name)
			continue
		}
		demo.Check(w.Commit(event.ResourceVersion))
		d.Line("has worked on %s %s, and written down resourceVersion %s", event.Type, event.Object.Name, w.Position())
	}
	return w.Close()
}
