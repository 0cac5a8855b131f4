package sharedinformer

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
)

const (
	// mutationPeriod is the time between two looks for mutations.
	mutationPeriod = time.Second
	// mutationRetain is how long objects are looked at that have left the store: handlers may still have them.
	mutationRetain = 2 * time.Minute
)

// Mutation is a change of an object that is shared by the store and all handlers, made by one of its users. Who it was
// cannot be told, but where to look.
type Mutation struct {
	Informer        string
	Key             listwatch.Key
	ResourceVersion string
	// Path is the first field that differs, such as ObjectMeta.Labels["app"].
	Path string
	// Was and Is are the field's values when the object came and when the mutation was noticed; nil for a value that is
	// not there.
	Was, Is any
}

// String says what happened in one line.
func (m Mutation) String() string {
	return fmt.Sprintf("informer %s: object %s@%s was modified: %s was %v and is %v", m.Informer, m.Key, m.ResourceVersion, m.Path, m.Was, m.Is)
}

// mutationDetector compares the objects of a store with copies. A nil one does nothing.
type mutationDetector[T listwatch.Object] struct {
	name   string
	report func(Mutation)

	mu      sync.Mutex // protects what follows
	current map[key]*watched[T]
	former  []*watched[T] // in the order in which they left the store
}

// watched is an object and what it was like when it came.
type watched[T listwatch.Object] struct {
	key     key
	obj     T
	copy    runtime.Object
	version string
	left    time.Time // when another took its place in the store
	altered bool      // was reported
}

// newMutationDetector returns nil unless opts or the environment ask for a detector.
func newMutationDetector[T listwatch.Object](opts *Options[T]) *mutationDetector[T] {
	byEnv, _ := strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR"))
	if !opts.DetectMutations && !byEnv {
		return nil
	}
	report := opts.OnMutation
	if report == nil {
		report = func(m Mutation) { panic(m.String()) }
	}
	return &mutationDetector[T]{name: opts.Name, report: report, current: map[key]*watched[T]{}}
}

// add copies the objects of a batch that is about to be stored. Only runtime.Objects can be copied, which all built-in
// and generated types are.
func (d *mutationDetector[T]) add(batch []delta[T]) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for j := range batch {
		switch delta := &batch[j]; delta.Type {
		case deltafifo.ReplacedAll:
			d.replaceLocked(delta.Bulk.Items)
		case deltafifo.Deleted:
			d.retireLocked(delta.Key)
		case deltafifo.SyncAll, deltafifo.Bookmark:
		default:
			d.addLocked(delta.Key, delta.Obj)
		}
	}
}

func (d *mutationDetector[T]) replaceLocked(list []deltafifo.Item[key, T]) {
	listed := make(map[key]struct{}, len(list))
	for j := range list {
		listed[list[j].Key] = struct{}{}
		if !list[j].Keep {
			d.addLocked(list[j].Key, list[j].Obj)
		}
	}
	for k := range d.current {
		if _, ok := listed[k]; !ok {
			d.retireLocked(k)
		}
	}
}

func (d *mutationDetector[T]) addLocked(k key, obj T) {
	if before := d.current[k]; before != nil && any(before.obj) == any(obj) {
		return // a resync: the copy of the first time counts
	}
	d.retireLocked(k)
	if copyable, ok := any(obj).(runtime.Object); ok {
		d.current[k] = &watched[T]{key: k, obj: obj, copy: copyable.DeepCopyObject(), version: obj.GetResourceVersion()}
	}
}

// retireLocked notes that an object leaves the store.
func (d *mutationDetector[T]) retireLocked(k key) {
	if w := d.current[k]; w != nil {
		w.left = time.Now()
		d.former = append(d.former, w)
		delete(d.current, k)
	}
}

// run looks at the objects every mutationPeriod.
func (d *mutationDetector[T]) run(ctx context.Context) {
	if d == nil {
		return
	}
	ticker := time.NewTicker(mutationPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.check()
		}
	}
}

// check reports what has changed, each object once. No lock may be held.
func (d *mutationDetector[T]) check() {
	if d == nil {
		return
	}
	for _, m := range d.compare(time.Now()) {
		d.report(m)
	}
}

func (d *mutationDetector[T]) compare(now time.Time) (found []Mutation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.current {
		found = d.compareOne(found, w)
	}
	expired := 0
	for i, w := range d.former {
		found = d.compareOne(found, w)
		if now.Sub(w.left) > mutationRetain {
			expired = i + 1
		}
	}
	clear(d.former[:expired])
	d.former = d.former[expired:]
	return found
}

func (d *mutationDetector[T]) compareOne(found []Mutation, w *watched[T]) []Mutation {
	if w.altered || reflect.DeepEqual(any(w.obj), any(w.copy)) {
		return found
	}
	w.altered = true
	diff := firstDifference(any(w.copy), any(w.obj))
	return append(found, Mutation{
		Informer: d.name, Key: w.key, ResourceVersion: w.version,
		Path: diff.path, Was: diff.was, Is: diff.is,
	})
}
