package substitution

import (
	"fmt"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/sharedinformer"
)

// diary records its calls.
type diary struct {
	mu    sync.Mutex // protects everything below
	lines []string   // since the last take
	view  map[string]string
}

func (d *diary) note(key, version, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
	if d.view == nil {
		d.view = map[string]string{}
	}
	if version == "" {
		delete(d.view, key)
	} else {
		d.view[key] = version
	}
}

func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

// believes returns the objects that exist by the handler's calls.
func (d *diary) believes() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	view := map[string]string{}
	maps.Copy(view, d.view)
	return view
}

func (d *diary) added(obj metav1.Object, initial bool) {
	suffix := ""
	if initial {
		suffix = " initial"
	}
	d.note(keyOf(obj), obj.GetResourceVersion(), "add %s@%s%s", keyOf(obj), obj.GetResourceVersion(), suffix)
}

func (d *diary) updated(oldObj, newObj metav1.Object) {
	d.note(keyOf(newObj), newObj.GetResourceVersion(), "update %s@%s→%s", keyOf(newObj), oldObj.GetResourceVersion(), newObj.GetResourceVersion())
}

func (d *diary) deleted(key string, obj metav1.Object, tombstone bool) {
	suffix := ""
	if tombstone {
		suffix = " tombstone"
	}
	d.note(key, "", "delete %s@%s%s", key, obj.GetResourceVersion(), suffix)
}

func keyOf(obj metav1.Object) string { return clientgo.MetaObjectToName(obj).String() }

// untyped is the diary as a handler of client-go's.
type untyped struct{ *diary }

func (u untyped) OnAdd(obj any, isInInitialList bool) { u.added(obj.(metav1.Object), isInInitialList) }

func (u untyped) OnUpdate(oldObj, newObj any) {
	u.updated(oldObj.(metav1.Object), newObj.(metav1.Object))
}

func (u untyped) OnDelete(obj any) {
	if tombstone, ok := obj.(clientgo.DeletedFinalStateUnknown); ok {
		u.deleted(tombstone.Key, tombstone.Obj.(metav1.Object), true)
		return
	}
	m := obj.(metav1.Object)
	u.deleted(keyOf(m), m, false)
}

// typed is the diary as a handler of ours.
type typed struct{ *diary }

func (h typed) OnAdd(obj config, isInInitialList bool) { h.added(obj, isInInitialList) }

func (h typed) OnUpdate(oldObj, newObj config) { h.updated(oldObj, newObj) }

func (h typed) OnDelete(del sharedinformer.Deletion[config]) {
	h.deleted(clientgo.ObjectName(del.Key).String(), del.Obj, del.FinalStateUnknown)
}
