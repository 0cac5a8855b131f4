package apiserver

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/internal/apiserver/patch"
	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/table"
)

// endpoint is one resource in one version as it is served. It is immutable, but for the closing of retired.
type endpoint struct {
	*resource.Info
	// table is where the objects are stored; two endpoints may share one.
	table schema.GroupResource
	// served turns a stored object into the version of this endpoint, stored does the opposite. Both return their
	// argument if there is nothing to do, and never change it.
	served, stored func(resource.Object) resource.Object

	definition string        // of a custom resource: its definition's uid, generation and names
	retired    chan struct{} // of a custom resource: closed when it is served otherwise, or not any more

	main, status, scaled *patch.Patcher // nil without the subresource
	printer              func() *table.Printer
}

// registry is the list of what is served.
type registry struct {
	mu       sync.RWMutex // protects what follows
	builtins []*endpoint
	custom   []*endpoint // sorted as discovery lists them
	byGVR    map[schema.GroupVersionResource]*endpoint
	byKind   map[schema.GroupKind]*endpoint // any version
}

func newRegistry() *registry {
	r := &registry{}
	for _, info := range resource.Builtins() {
		r.builtins = append(r.builtins, newEndpoint(info))
	}
	r.index()
	return r
}

// newEndpoint makes the endpoint of a resource.
func newEndpoint(info *resource.Info) *endpoint {
	same := func(obj resource.Object) resource.Object { return obj }
	ep := &endpoint{Info: info, table: info.GroupResource(), served: same, stored: same, main: patch.ForInfo(info, "", applyDefaults),
		printer: sync.OnceValue(func() *table.Printer { return table.For(info) })}
	if info.Status {
		ep.status = patch.ForInfo(info, "status", applyDefaults)
	}
	if info.Custom != nil && info.Custom.Scale != nil {
		ep.scaled = patch.ForInfo(info, "scale", nil)
	}
	if ep.table == eventsV1 {
		ep.table, ep.served, ep.stored = coreEvents, eventToV1, eventFromV1
	}
	return ep
}

// inVersion returns a copy of a custom object in the version of info: without the fields that its schema lacks.
func inVersion(obj resource.Object, info *resource.Info) resource.Object {
	u := obj.DeepCopyObject().(*unstructured.Unstructured)
	u.SetAPIVersion(info.APIVersion())
	info.Custom.Prune(u)
	return u
}

// readBack returns a copy of a stored custom object as a real server decodes it. from is the version that it is stored in,
// whose schema may have changed since, and may have got defaults.
func readBack(obj resource.Object, from *resource.Info) resource.Object {
	u := obj.DeepCopyObject().(*unstructured.Unstructured)
	from.Custom.Prune(u)
	from.Custom.Default(u)
	return u
}

func apiVersionOf(obj resource.Object) string {
	return obj.GetObjectKind().GroupVersionKind().GroupVersion().String()
}

func (r *registry) index() {
	r.byGVR = map[schema.GroupVersionResource]*endpoint{}
	r.byKind = map[schema.GroupKind]*endpoint{}
	for _, ep := range r.allLocked() {
		r.byGVR[ep.GVR] = ep
		r.byKind[ep.GVK.GroupKind()] = ep
	}
}

func (r *registry) allLocked() []*endpoint {
	return append(append([]*endpoint(nil), r.builtins...), r.custom...)
}

// all returns every endpoint in the order of discovery. The slice is the caller's.
func (r *registry) all() []*endpoint {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.allLocked()
}

// tables returns one endpoint per table, in the order of discovery. The slice is the caller's.
func (r *registry) tables() []*endpoint {
	seen := map[schema.GroupResource]bool{}
	var out []*endpoint
	for _, ep := range r.all() {
		if !seen[ep.table] {
			seen[ep.table] = true
			out = append(out, ep)
		}
	}
	return out
}

// customEndpoints returns those of custom resources.
func (r *registry) customEndpoints() []*endpoint {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.custom
}

// find returns the endpoint of a resource, or nil.
func (r *registry) find(gvr schema.GroupVersionResource) *endpoint {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byGVR[gvr]
}

// findKind returns an endpoint of a kind, or nil.
func (r *registry) findKind(gk schema.GroupKind) *endpoint {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byKind[gk]
}

// setCustom replaces the custom resources.
func (r *registry) setCustom(custom []*endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.custom = custom
	r.index()
}
