package differential

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
)

// The resync periods are not whole seconds, so that no resync coincides with a step of the player.
const (
	resyncPeriod = time.Hour + 13*time.Millisecond
	halfPeriod   = resyncPeriod / 2
)

// resyncOf is a handler's resync period; default is the informer's.
var resyncOf = map[string]time.Duration{"none": 0, "half": halfPeriod, "double": 2 * resyncPeriod}

// mark is the transform's mark on each object.
const mark = "transformed"

func transform(obj metav1.Object) {
	obj.SetAnnotations(map[string]string{mark: "yes"})
}

// subject is an informer that a history is played to.
type subject interface {
	// Start runs it; done is closed when it has stopped.
	Start(ctx context.Context) (done <-chan struct{})
	// Add registers a handler; resync is a word of resyncs.
	Add(h *recorder, resync string) (registration, error)
	Remove(r registration) error
	HasSynced() bool
	Synced() <-chan struct{} // closed when HasSynced turns true
	// Store lists what is in the store, and the keys of each namespace.
	Store() []string
	// StoreVersion is the store's resourceVersion.
	StoreVersion() string
	// ReadUpTo is the reflector's resourceVersion.
	ReadUpTo() string
}

type registration interface{ HasSynced() bool }

// recorder is a handler that records its calls, and can be blocked.
type recorder struct {
	mu      sync.Mutex // protects everything below
	changed sync.Cond  // on mu
	calls   int
	told    map[string][]string // by key
	blocked bool
	allowed int               // calls that may return although it is blocked
	lines   []string          // since the last take
	view    map[string]string // the versions of what exists by the calls
}

func newRecorder() *recorder {
	r := &recorder{told: map[string][]string{}, view: map[string]string{}}
	r.changed.L = &r.mu
	return r
}

// note writes down a call, after which the object has this version, or is gone. Then it does not return before it is allowed to.
func (r *recorder) note(key, version, call string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	r.told[key] = append(r.told[key], call)
	r.lines = append(r.lines, key+": "+call)
	if version == "" {
		delete(r.view, key)
	} else {
		r.view[key] = version
	}
	for r.blocked && r.allowed == 0 {
		r.changed.Wait()
	}
	if r.blocked {
		r.allowed--
	}
}

// take returns the calls since it was called last.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// believes returns what exists by the calls, as Store does.
func (r *recorder) believes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := []string{}
	for key, version := range r.view {
		lines = append(lines, key+": "+version)
	}
	return lines
}

func (r *recorder) block(blocked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocked, r.allowed = blocked, 0
	r.changed.Broadcast()
}

func (r *recorder) allow(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowed += n
	r.changed.Broadcast()
}

// report returns the lines that are compared. If it is partial, the order of calls for several objects matters.
func (r *recorder) report(partial bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := []string{fmt.Sprintf("%d calls", r.calls)}
	if partial || r.blocked {
		return lines
	}
	for key, told := range r.told {
		lines = append(lines, fmt.Sprintf("%s: %v", key, told))
	}
	slices.Sort(lines[1:])
	return lines
}

func version(obj metav1.Object) string {
	v := obj.GetResourceVersion()
	if obj.GetAnnotations()[mark] != "" {
		v += "'"
	}
	return v
}

func (r *recorder) added(obj metav1.Object, initial bool) {
	call := "add " + version(obj)
	if initial {
		call += " initial"
	}
	r.note(keyOf(obj), version(obj), call)
}

func (r *recorder) updated(oldObj, newObj metav1.Object) {
	r.note(keyOf(newObj), version(newObj), "update "+version(oldObj)+"→"+version(newObj))
}

func (r *recorder) deleted(key string, obj metav1.Object, tombstone bool) {
	call := "delete nothing"
	if obj != nil {
		call = "delete " + version(obj)
	}
	if tombstone {
		call += " tombstone"
	}
	r.note(key, "", call)
}

func keyOf(obj metav1.Object) string {
	return clientgo.MetaObjectToName(obj).String()
}

// facade is an informer with client-go's face.
type facade struct{ informer clientgo.SharedIndexInformer }

// makeInformer is the signature that client-go and compat share.
type makeInformer func(lw clientgo.ListerWatcher, example runtime.Object, resync time.Duration, indexers clientgo.Indexers) clientgo.SharedIndexInformer

func newFacade(build makeInformer, g *gate, s script) (subject, error) {
	resync := time.Duration(0)
	if s.has("resync") {
		resync = resyncPeriod
	}
	indexers := clientgo.Indexers{clientgo.NamespaceIndex: clientgo.MetaNamespaceIndexFunc}
	informer := build(listerWatcher(g), &corev1.ConfigMap{}, resync, indexers)
	if s.has("transform") {
		err := informer.SetTransform(func(obj any) (any, error) {
			transform(obj.(metav1.Object))
			return obj, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return &facade{informer}, nil
}

func listerWatcher(g *gate) *clientgo.ListWatch {
	return &clientgo.ListWatch{ListWithContextFunc: g.List, WatchFuncWithContext: g.Watch}
}

func (f *facade) Start(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.informer.RunWithContext(ctx)
	}()
	return done
}

func (f *facade) Add(h *recorder, resync string) (registration, error) {
	if period, ok := resyncOf[resync]; ok {
		return f.informer.AddEventHandlerWithResyncPeriod(facadeHandler{h}, period)
	}
	return f.informer.AddEventHandler(facadeHandler{h})
}

func (f *facade) Remove(r registration) error {
	return f.informer.RemoveEventHandler(r.(clientgo.ResourceEventHandlerRegistration))
}

func (f *facade) HasSynced() bool { return f.informer.HasSynced() }

func (f *facade) Synced() <-chan struct{} { return f.informer.HasSyncedChecker().Done() }

func (f *facade) StoreVersion() string { return f.informer.GetStore().LastStoreSyncResourceVersion() }

func (f *facade) ReadUpTo() string { return f.informer.LastSyncResourceVersion() }

func (f *facade) Store() []string {
	store := f.informer.GetIndexer()
	lines := contents(store)
	for _, namespace := range store.ListIndexFuncValues(clientgo.NamespaceIndex) {
		keys, err := store.IndexKeys(clientgo.NamespaceIndex, namespace)
		slices.Sort(keys)
		lines = append(lines, fmt.Sprintf("namespace %s: %v, error %v", namespace, keys, err))
	}
	slices.Sort(lines)
	return lines
}

// contents are the versions in a store.
func contents(store clientgo.Store) []string {
	lines := []string{}
	for _, key := range store.ListKeys() {
		obj, found, err := store.GetByKey(key)
		if !found || err != nil {
			lines = append(lines, fmt.Sprintf("%s: found %v, error %v", key, found, err))
			continue
		}
		m := obj.(metav1.Object)
		lines = append(lines, keyOf(m)+": "+version(m))
	}
	return lines
}

type facadeHandler struct{ to *recorder }

func (h facadeHandler) OnAdd(obj any, isInInitialList bool) {
	h.to.added(obj.(metav1.Object), isInInitialList)
}

func (h facadeHandler) OnUpdate(oldObj, newObj any) {
	h.to.updated(oldObj.(metav1.Object), newObj.(metav1.Object))
}

func (h facadeHandler) OnDelete(obj any) {
	if tombstone, ok := obj.(clientgo.DeletedFinalStateUnknown); ok {
		last, _ := tombstone.Obj.(metav1.Object)
		h.to.deleted(tombstone.Key, last, true)
		return
	}
	m := obj.(metav1.Object)
	h.to.deleted(keyOf(m), m, false)
}
