package cache

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"
)

// How often, and for how long, an object is checked.
const (
	mutationPeriod = time.Second
	mutationRetain = 2 * time.Minute
)

// NewCacheMutationDetector returns a detector that does nothing, unless the environment variable
// KUBE_CACHE_MUTATION_DETECTOR was true when it was called. Then Run panics when one of its objects is modified within
// two to four minutes, and its message names the change. The informers of this package have a detector of their own.
func NewCacheMutationDetector(name string) MutationDetector {
	if wanted, _ := strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR")); !wanted {
		return noDetector{}
	}
	return &mutationDetector{name: name}
}

type noDetector struct{}

func (noDetector) AddObject(any)       {}
func (noDetector) Run(<-chan struct{}) {}

type mutationDetector struct {
	name string

	mu sync.Mutex // protects both
	// recent has the objects of the last mutationRetain, older those of the same time before that.
	recent, older []originalAndCopy
}

type originalAndCopy struct{ original, copied runtime.Object }

// AddObject copies obj. Only a runtime.Object can be copied; others, such as tombstones, are ignored.
func (d *mutationDetector) AddObject(obj any) {
	original, ok := obj.(runtime.Object)
	if !ok {
		return
	}
	copied := original.DeepCopyObject()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recent = append(d.recent, originalAndCopy{original, copied})
}

// Run checks the objects once a second until stopCh is closed. It panics if one has been modified.
func (d *mutationDetector) Run(stopCh <-chan struct{}) {
	tick := time.NewTicker(mutationPeriod)
	defer tick.Stop()
	rotated := time.Now()
	for {
		d.compare()
		if time.Since(rotated) > mutationRetain {
			rotated = time.Now()
			d.rotate()
		}
		select {
		case <-stopCh:
			return
		case <-tick.C:
		}
	}
}

func (d *mutationDetector) rotate() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recent, d.older = nil, d.recent
}

func (d *mutationDetector) compare() {
	d.mu.Lock()
	all := slices.Concat(d.older, d.recent)
	d.mu.Unlock()
	for _, o := range all {
		if !reflect.DeepEqual(o.original, o.copied) {
			panic(fmt.Sprintf("cache %s modified: %s", d.name, diff.Diff(o.copied, o.original)))
		}
	}
}
