package cache

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"

	"glasswatch/sharedinformer/mutationdetect"
)

// How often, and for how long, an object is checked.
const (
	mutationPeriod = time.Second
	mutationRetain = 4 * time.Minute
)

// NewCacheMutationDetector returns a detector that does nothing, unless the environment variable
// KUBE_CACHE_MUTATION_DETECTOR was true when it was called. Then Run panics when an object it was given has been modified
// within four minutes, and says how. The informers of this package have one of their own.
func NewCacheMutationDetector(name string) MutationDetector {
	if !mutationdetect.Wanted() {
		return noDetector{}
	}
	return &mutationDetector{name: name}
}

type noDetector struct{}

func (noDetector) AddObject(any)       {}
func (noDetector) Run(<-chan struct{}) {}

type mutationDetector struct {
	name string

	mu    sync.Mutex // protects added
	added []originalAndCopy
}

type originalAndCopy struct {
	original, copied runtime.Object
	since            time.Time
}

// AddObject copies obj. Only a runtime.Object can be copied; others, such as tombstones, are ignored.
func (d *mutationDetector) AddObject(obj any) {
	original, ok := obj.(runtime.Object)
	if !ok {
		return
	}
	copied := original.DeepCopyObject()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.added = append(d.added, originalAndCopy{original, copied, time.Now()})
}

// Run checks the objects once a second until stopCh is closed. It panics if one has been modified.
func (d *mutationDetector) Run(stopCh <-chan struct{}) {
	tick := time.NewTicker(mutationPeriod)
	defer tick.Stop()
	for {
		d.compare()
		select {
		case <-stopCh:
			return
		case <-tick.C:
		}
	}
}

func (d *mutationDetector) compare() {
	d.mu.Lock()
	d.added = slices.DeleteFunc(d.added, func(o originalAndCopy) bool { return time.Since(o.since) > mutationRetain })
	all := slices.Clone(d.added)
	d.mu.Unlock()
	for _, o := range all {
		if !reflect.DeepEqual(o.original, o.copied) {
			panic(fmt.Sprintf("cache %s modified: %s", d.name, diff.Diff(o.copied, o.original)))
		}
	}
}
