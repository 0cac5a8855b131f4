package indexer

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// The same workload on both stores, with the two indices that pods usually have; impl=floor is the least that
// the answer costs: one map lookup, one copy of a slice, one walk over it.
//
//	go test -bench . -count 6 | benchstat -col /impl -

type podKey = types.NamespacedName

func podKeyOf(p *corev1.Pod) (podKey, error) {
	return podKey{Namespace: p.Namespace, Name: p.Name}, nil
}

// contender is a store under test. Each method does one whole job, so that calling it costs nothing to speak of.
type contender interface {
	get(i int) bool
	getForeign(i int) bool
	getNamed(namespace, name string) bool
	update(p *corev1.Pod)
	add(p *corev1.Pod)
	remove(p *corev1.Pod)
	list() int
	each() int
	byNode(node string) int
	byNamespace(namespace string) int
	index(p *corev1.Pod) int
	replace()
}

type ours struct {
	s       *Store[podKey, *corev1.Pod]
	keys    []podKey
	foreign []podKey
	pods    []*corev1.Pod
}

func newOurStore() *Store[podKey, *corev1.Pod] {
	return New(Options[podKey, *corev1.Pod]{KeyFunc: podKeyOf, Indexers: Indexers[*corev1.Pod]{
		"namespace": func(p *corev1.Pod, dst []string) ([]string, error) { return append(dst, p.Namespace), nil },
		"node":      func(p *corev1.Pod, dst []string) ([]string, error) { return append(dst, p.Spec.NodeName), nil },
	}})
}

func newOurs(pods []*corev1.Pod) contender {
	o := &ours{s: newOurStore(), keys: keysOf(pods), foreign: foreignKeysOf(pods), pods: pods}
	for _, p := range pods {
		_ = o.s.Add(p)
	}
	return o
}

func (o *ours) get(i int) bool        { _, ok := o.s.GetByKey(o.keys[i]); return ok }
func (o *ours) getForeign(i int) bool { _, ok := o.s.GetByKey(o.foreign[i]); return ok }
func (o *ours) getNamed(namespace, name string) bool {
	_, ok := o.s.GetByKey(podKey{Namespace: namespace, Name: name})
	return ok
}
func (o *ours) update(p *corev1.Pod) { _ = o.s.Update(p) }
func (o *ours) add(p *corev1.Pod)    { _ = o.s.Add(p) }
func (o *ours) remove(p *corev1.Pod) { _ = o.s.Delete(p) }
func (o *ours) list() int            { return len(o.s.List()) }
func (o *ours) each() (n int) {
	for _, p := range o.s.All() {
		if p != nil {
			n++
		}
	}
	return n
}
func (o *ours) byNode(node string) int { l, _ := o.s.ByIndex("node", node); return len(l) }
func (o *ours) byNamespace(namespace string) int {
	l, _ := o.s.ByIndex("namespace", namespace)
	return len(l)
}
func (o *ours) index(p *corev1.Pod) int { l, _ := o.s.Index("node", p); return len(l) }
func (o *ours) replace()                { _ = o.s.Replace(o.pods, "1") }

type theirs struct {
	s    cache.Indexer
	keys []string
	pods []any
}

func newTheirStore() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		"namespace": cache.MetaNamespaceIndexFunc,
		"node":      func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	})
}

func newTheirs(pods []*corev1.Pod) contender {
	o := &theirs{s: newTheirStore()}
	for _, p := range pods {
		o.keys = append(o.keys, p.Namespace+"/"+p.Name)
		o.pods = append(o.pods, p)
		_ = o.s.Add(p)
	}
	return o
}

func (o *theirs) get(i int) bool        { _, ok, _ := o.s.GetByKey(o.keys[i]); return ok }
func (o *theirs) getForeign(i int) bool { return o.get(i) } // its keys are always foreign: the store makes its own
func (o *theirs) getNamed(namespace, name string) bool {
	_, ok, _ := o.s.GetByKey(namespace + "/" + name)
	return ok
}
func (o *theirs) update(p *corev1.Pod) { _ = o.s.Update(p) }
func (o *theirs) add(p *corev1.Pod)    { _ = o.s.Add(p) }
func (o *theirs) remove(p *corev1.Pod) { _ = o.s.Delete(p) }
func (o *theirs) list() int            { return len(o.s.List()) }
func (o *theirs) each() (n int) {
	for _, p := range o.s.List() {
		if p.(*corev1.Pod) != nil {
			n++
		}
	}
	return n
}
func (o *theirs) byNode(node string) int { l, _ := o.s.ByIndex("node", node); return len(l) }
func (o *theirs) byNamespace(namespace string) int {
	l, _ := o.s.ByIndex("namespace", namespace)
	return len(l)
}
func (o *theirs) index(p *corev1.Pod) int { l, _ := o.s.Index("node", p); return len(l) }
func (o *theirs) replace()                { _ = o.s.Replace(o.pods, "1") }

// least answers from plain maps and slices that are made for each question, without locks: while one goroutine writes
// and others read, they work on different ones.
type least struct {
	byKey             map[podKey]*corev1.Pod
	written           map[podKey]*corev1.Pod
	keys, foreign     []podKey
	pods              []*corev1.Pod
	nodes, namespaces map[string][]*corev1.Pod
}

func newLeast(pods []*corev1.Pod) contender {
	o := &least{
		byKey: map[podKey]*corev1.Pod{}, written: map[podKey]*corev1.Pod{}, keys: keysOf(pods), foreign: foreignKeysOf(pods), pods: pods,
		nodes: map[string][]*corev1.Pod{}, namespaces: map[string][]*corev1.Pod{},
	}
	for i, p := range pods {
		o.byKey[o.keys[i]], o.written[o.keys[i]] = p, p
		o.nodes[p.Spec.NodeName] = append(o.nodes[p.Spec.NodeName], p)
		o.namespaces[p.Namespace] = append(o.namespaces[p.Namespace], p)
	}
	return o
}

func (o *least) get(i int) bool        { _, ok := o.byKey[o.keys[i]]; return ok }
func (o *least) getForeign(i int) bool { _, ok := o.byKey[o.foreign[i]]; return ok }
func (o *least) getNamed(namespace, name string) bool {
	_, ok := o.byKey[podKey{Namespace: namespace, Name: name}]
	return ok
}
func (o *least) update(p *corev1.Pod) { o.written[podKey{Namespace: p.Namespace, Name: p.Name}] = p }
func (o *least) add(p *corev1.Pod)    { o.update(p) }
func (o *least) remove(p *corev1.Pod) {
	delete(o.written, podKey{Namespace: p.Namespace, Name: p.Name})
}
func (o *least) list() int { return len(slices.Clone(o.pods)) }
func (o *least) each() (n int) {
	for _, p := range o.pods {
		if p != nil {
			n++
		}
	}
	return n
}
func (o *least) byNode(node string) int           { return len(slices.Clone(o.nodes[node])) }
func (o *least) byNamespace(namespace string) int { return len(slices.Clone(o.namespaces[namespace])) }
func (o *least) index(p *corev1.Pod) int          { return o.byNode(p.Spec.NodeName) }
func (o *least) replace() {
	next := make(map[podKey]*corev1.Pod, len(o.pods))
	for _, p := range o.pods {
		next[podKey{Namespace: p.Namespace, Name: p.Name}] = p
	}
	o.written = next
}

// lockedMap is the least that a lookup costs in a map that a lock guards and whose keys are of our type.
type lockedMap struct {
	least
	mu sync.Mutex
}

func newLockedMap(pods []*corev1.Pod) contender { return &lockedMap{least: *newLeast(pods).(*least)} }

func (o *lockedMap) get(i int) bool {
	o.mu.Lock()
	_, ok := o.byKey[o.keys[i]]
	o.mu.Unlock()
	return ok
}

// keysOf makes the keys that a handler queues: their strings are those of the objects.
func keysOf(pods []*corev1.Pod) []podKey {
	keys := make([]podKey, len(pods))
	for i, p := range pods {
		keys[i], _ = podKeyOf(p)
	}
	return keys
}

// foreignKeysOf makes keys whose strings are nobody else's: to compare them, the text of both has to be read.
func foreignKeysOf(pods []*corev1.Pod) []podKey {
	keys := keysOf(pods)
	for i := range keys {
		keys[i] = podKey{Namespace: strings.Clone(keys[i].Namespace), Name: strings.Clone(keys[i].Name)}
	}
	return keys
}

// makePods makes n pods in 20 namespaces, a hundred pods on a node.
func makePods(n int) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "namespace-" + strconv.Itoa(i%20), Name: "deployment-5d4f8c7b9-" + strconv.Itoa(i), ResourceVersion: "1"},
			Spec:       corev1.PodSpec{NodeName: "node-" + strconv.Itoa(i/100)},
		}
	}
	return pods
}

type impl struct {
	name string
	new  func([]*corev1.Pod) contender
}

var (
	both      = []impl{{"glasswatch", newOurs}, {"client-go", newTheirs}}
	withFloor = append(both[:2:2], impl{"floor", newLeast})
	sizes     = []int{1_000, 10_000, 100_000}
)

// built are the stores of all sizes. Sub-benchmarks share them, for to build one takes longer than to measure most
// things; all that is done to them leaves objects with the same content in them.
var built = struct {
	pods       map[int][]*corev1.Pod
	contenders map[string]contender
	sets       map[int][2][]*corev1.Pod
	updates    map[contender]*updates
}{map[int][]*corev1.Pod{}, map[string]contender{}, map[int][2][]*corev1.Pod{}, map[contender]*updates{}}

func bench(b *testing.B, impls []impl, run func(b *testing.B, c contender, pods []*corev1.Pod)) {
	for _, n := range sizes {
		for _, impl := range impls {
			name := fmt.Sprintf("objects=%d/impl=%s", n, impl.name)
			b.Run(name, func(b *testing.B) {
				if built.pods[n] == nil {
					built.pods[n] = makePods(n)
				}
				if built.contenders[name] == nil {
					built.contenders[name] = impl.new(built.pods[n])
				}
				b.ReportAllocs()
				runtime.GC()   // what was built is not swept while something is measured
				b.ResetTimer() // b.Loop does that by itself, b.RunParallel does not
				run(b, built.contenders[name], built.pods[n])
			})
		}
	}
}
