package merged

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

type config = corev1.ConfigMap

func named(name string) key { return key{Namespace: "default", Name: name} }

// recorder is a handler that writes down what it is told, and whether it was told lies.
type recorder struct {
	mu   sync.Mutex
	log  []string
	view map[key]*config // what the handler believes is there
	lies []string
	// during, if not nil, runs inside each call, with no lock held.
	during func(what string)
}

func newRecorder() *recorder { return &recorder{view: map[key]*config{}} }

func (r *recorder) note(legal bool, change func(), format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	r.mu.Lock()
	r.log = append(r.log, what)
	if !legal {
		r.lies = append(r.lies, fmt.Sprintf("%q after %q", what, r.log[:len(r.log)-1]))
	}
	change()
	during := r.during
	r.mu.Unlock()
	if during != nil {
		during(what)
	}
}

func (r *recorder) OnAdd(obj *config, isInInitialList bool) {
	k := listwatch.KeyOf(obj)
	suffix := ""
	if isInInitialList {
		suffix = " initial"
	}
	r.mu.Lock()
	known := r.view[k]
	r.mu.Unlock()
	r.note(known == nil, func() { r.view[k] = obj }, "add %s@%s%s", k.Name, obj.ResourceVersion, suffix)
}

func (r *recorder) OnUpdate(oldObj, newObj *config) {
	k := listwatch.KeyOf(newObj)
	r.mu.Lock()
	known := r.view[k]
	r.mu.Unlock()
	legal := known != nil && known.ResourceVersion == oldObj.ResourceVersion
	r.note(legal, func() { r.view[k] = newObj },
		"update %s@%s→%s", k.Name, oldObj.ResourceVersion, newObj.ResourceVersion)
}

func (r *recorder) OnDelete(d sharedinformer.Deletion[*config]) {
	r.mu.Lock()
	known := r.view[d.Key]
	r.mu.Unlock()
	suffix := ""
	if d.FinalStateUnknown {
		suffix = " unseen"
	}
	version := "?"
	if d.HasObj() {
		version = d.Obj.ResourceVersion
	}
	r.note(known != nil, func() { delete(r.view, d.Key) }, "delete %s@%s%s", d.Key.Name, version, suffix)
}

// take returns what was written down since the last take.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.log
	r.log = nil
	return log
}

func (r *recorder) believes() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]string{}
	for k, obj := range r.view {
		out[k.Name] = obj.ResourceVersion
	}
	return out
}
