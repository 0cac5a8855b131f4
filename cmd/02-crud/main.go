// Command 02-crud creates, reads, updates, patches and applies objects, and reads a long list page by page.
package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"

	"glasswatch/cmd/internal/demo"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "02-crud", Title: "Writing, and reading what others wrote meanwhile", Next: "docs/learn/tour.md, chapter 2",
	Tell: demo.Steps(crud, patches, apply, pages, crowd)}

func crud(ctx context.Context, d *demo.Demo) {
	d.Step("Create, get, list, update")
	services := d.Client.CoreV1().Services(d.Namespace)
	ports := []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "admin", Port: 9000}}
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: ports}}
	created := demo.Must(services.Create(ctx, web, metav1.CreateOptions{}))
	d.Saw("create: uid %s, resourceVersion %s, and what the server filled in: type %s, session affinity %s",
		created.UID, created.ResourceVersion, created.Spec.Type, created.Spec.SessionAffinity)
	_, err := services.Create(ctx, web, metav1.CreateOptions{})
	d.Saw("create again: %v (%s)", err, apierrors.ReasonForError(err))
	mine, theirs := demo.Must(services.Get(ctx, "web", metav1.GetOptions{})), demo.Must(services.Get(ctx, "web", metav1.GetOptions{}))
	d.Saw("get: the same object, %t", mine.UID == created.UID && mine.ResourceVersion == created.ResourceVersion)
	list := demo.Must(services.List(ctx, metav1.ListOptions{}))
	d.Saw("list: %d item; the list has a resourceVersion of its own, %s: the moment it shows", len(list.Items), list.ResourceVersion)
	theirs.Labels = map[string]string{"by": "them"}
	theirs = demo.Must(services.Update(ctx, theirs, metav1.UpdateOptions{}))
	d.Saw("update: another resourceVersion, %t", theirs.ResourceVersion != mine.ResourceVersion)
	mine.Labels = map[string]string{"by": "me"}
	_, err = services.Update(ctx, mine, metav1.UpdateOptions{})
	d.Saw("update of the version from before: %v", err)
	d.Why("an update says which version it is made from. After a conflict: get, change, update again")
}

func patches(ctx context.Context, d *demo.Demo) {
	d.Step("Four ways to say what is to change, and nothing else")
	for _, p := range []struct{ kind, body, note string }{
		{string(types.JSONPatchType),
			`[{"op":"test","path":"/spec/ports/0/port","value":80},{"op":"replace","path":"/spec/ports/0/port","value":81}]`,
			"operations on paths, in lists by index; if the test does not hold, none of them is done"},
		{string(types.MergePatchType), `{"metadata":{"labels":null},"spec":{"ports":[{"name":"http","port":82}]}}`,
			"null removes a field, a list is replaced whole: admin is gone"},
		{string(types.StrategicMergePatchType), `{"spec":{"ports":[{"name":"admin","port":9000}]}}`,
			"lists with a merge key, here port, are merged; not for custom resources"},
		{string(types.ApplyYAMLPatchType),
			`{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"name":"dns","port":53,"protocol":"UDP"}]}}`,
			"what one wants of one's own fields; the server knows whose they are"},
	} {
		services, opts := d.Client.CoreV1().Services(d.Namespace), metav1.PatchOptions{FieldManager: "demo"}
		web := demo.Must(services.Patch(ctx, "web", types.PatchType(p.kind), []byte(p.body), opts))
		d.Sent("%s", d.Tape.Last())
		ports := ""
		for _, port := range web.Spec.Ports {
			ports += fmt.Sprintf(" %s:%d", port.Name, port.Port)
		}
		d.Saw("labels %v, ports%s", web.Labels, ports)
		d.Why("%s", p.note)
	}
}

func apply(ctx context.Context, d *demo.Demo) {
	d.Step("Apply: the server remembers who wants which field")
	configMaps := d.Client.CoreV1().ConfigMaps(d.Namespace)
	apply := func(manager string, force bool, data map[string]string) {
		paint := applycore.ConfigMap("paint", d.Namespace).WithData(data)
		stored, err := configMaps.Apply(ctx, paint, metav1.ApplyOptions{FieldManager: manager, Force: force})
		d.Did("%s applied %v, force %t", manager, data, force)
		if err != nil {
			d.Saw("%s %v", apierrors.ReasonForError(err), err)
			return
		}
		owners := ""
		for _, entry := range stored.ManagedFields {
			owners += fmt.Sprintf("\n%-5s %s", entry.Manager, entry.FieldsV1.GetRawString())
		}
		d.Saw("%v, owned by%s", stored.Data, owners)
	}
	apply("alice", false, map[string]string{"wall": "white", "door": "red"})
	d.Sent("%s", d.Tape.Last())
	apply("bob", false, map[string]string{"roof": "grey"})
	apply("bob", false, map[string]string{"roof": "grey", "door": "blue"})
	apply("bob", true, map[string]string{"roof": "grey", "door": "blue"})
	apply("alice", false, map[string]string{})
	d.Why("alice wants nothing any more: what only she owned is gone, what bob took over stays")
}

func pages(ctx context.Context, d *demo.Demo) {
	crowd := demo.Must(d.Crowd(ctx))
	d.Step("limit and continue, over " + crowd.What)
	grows, last := true, int64(0)
	rows := [][]string{{"limit", "requests", "objects", "     time", "   received", "memory of one page"}}
	for _, limit := range crowd.PageSizes {
		opts, before := metav1.ListOptions{Limit: limit}, demo.Heap()
		page := demo.Must(crowd.List(ctx, d.Client, opts))
		memory := max(demo.Heap()-before, 0)
		runtime.KeepAlive(page)
		grows, last = grows && memory > last, memory
		d.Tape.Rewind()
		objects, start := 0, time.Now()
		for more := true; more; more = opts.Continue != "" {
			page := demo.Must(crowd.List(ctx, d.Client, opts))
			objects, opts.Continue = objects+page.Objects, page.Continue
		}
		requests, received := d.Tape.Rewind()
		rows = append(rows, []string{fmt.Sprint(limit), fmt.Sprint(requests), fmt.Sprint(objects),
			demo.Millis(time.Since(start)), demo.MiB(received), demo.MiB(memory)})
	}
	d.Table(rows...)
	d.Saw("memory grows with the page: %t", grows)
	d.Why("all pages show the moment of the first. 0 is no limit; client-go's informers ask for 500, if they page at all")
	expiry(ctx, d, crowd)
}

func expiry(ctx context.Context, d *demo.Demo, crowd *demo.Crowd) {
	faults := d.FaultStep("A continue token that expires")
	if faults == nil {
		return
	}
	page := demo.Must(crowd.List(ctx, d.Client, metav1.ListOptions{Limit: 500}))
	d.Did("read %d; somebody created one more; the server forgot the moment of the first page", page.Objects)
	demo.Check(crowd.Add(ctx, "crowd-latecomer"))
	faults.Compact()
	objects, opts := page.Objects, metav1.ListOptions{Limit: 500, Continue: page.Continue}
	_, err := crowd.List(ctx, d.Client, opts)
	expired, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		demo.Check(fmt.Errorf("want an expired token, got %w", err))
	}
	d.Saw("%d %s: %.77s…", expired.ErrStatus.Code, expired.ErrStatus.Reason, err)
	for opts.Continue = expired.ErrStatus.Continue; opts.Continue != ""; opts.Continue = page.Continue {
		page = demo.Must(crowd.List(ctx, d.Client, opts))
		objects += page.Objects
	}
	d.Saw("with the token in that answer: %d objects in all, of two moments", objects)
	d.Why("the first page shows the old moment, the rest the new one. client-go's pager lists all again instead, at once")
}
