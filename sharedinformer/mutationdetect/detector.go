package mutationdetect

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"glasswatch/listwatch"
)

const (
	// period is the time between two comparisons.
	period = time.Second
	// retain is how long objects that left the store are compared.
	retain = 2 * time.Minute
)

// Mutation is a modification of an object that the store and all handlers share.
type Mutation struct {
	Informer        string
	Key             listwatch.Key
	ResourceVersion string
	// Path is the first field that differs, such as ObjectMeta.Labels["app"].
	Path string
	// Was and Is are the field's values before and after; nil for a value that is not there.
	Was, Is any
}

// String says what happened in one line.
func (m Mutation) String() string {
	return fmt.Sprintf("informer %s: object %s@%s was modified: %s was %v and is %v",
		m.Informer, m.Key, m.ResourceVersion, m.Path, m.Was, m.Is)
}

// Wanted reports whether the environment variable KUBE_CACHE_MUTATION_DETECTOR asks for detectors. The factory, the
// shared informers of compat/cache and the ingress controller ask. Informers that a program makes itself have none.
func Wanted() bool {
	wanted, _ := strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR"))
	return wanted
}

// Detector compares the objects of one informer with copies. Make one with [New], set its BeforeStore in the informer's
// Options, and run the informer by its Run.
type Detector struct {
	informer string
	report   func(Mutation)

	mu      sync.Mutex // protects what follows
	current map[listwatch.Key]*watched
	former  []*watched // in the order in which they left the store
}

// watched is an object and what it was like when it came.
type watched struct {
	key      listwatch.Key
	obj      listwatch.Object
	copy     runtime.Object
	version  string
	left     time.Time // when it left the store; zero before
	reported bool
}

// New returns a detector for the informer of that name. report is told of each modified object; nil panics, since what
// a program does after a mutation of its cache cannot be trusted.
func New(informer string, report func(Mutation)) *Detector {
	if report == nil {
		report = func(m Mutation) { panic(m.String()) }
	}
	return &Detector{informer: informer, report: report, current: map[listwatch.Key]*watched{}}
}

// BeforeStore copies an object that is about to be stored; nil says that the object of that key is about to leave.
func (d *Detector) BeforeStore(key listwatch.Key, obj listwatch.Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.current[key]
	if before != nil {
		if obj != nil && before.obj == obj {
			return // a resync: the copy of the first time counts
		}
		before.left = time.Now()
		d.former = append(d.former, before)
		for before.left.Sub(d.former[0].left) > retain { // also if nobody calls Run
			d.former = d.former[1:]
		}
		delete(d.current, key)
	}
	if obj != nil {
		d.current[key] = &watched{key: key, obj: obj, copy: obj.DeepCopyObject(), version: obj.GetResourceVersion()}
	}
}

// Run calls run, which is to run the informer, and compares objects each second until it returns, and once more then.
// It returns what run returned.
func (d *Detector) Run(ctx context.Context, run func(context.Context) error) error {
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for running := true; running; {
			select {
			case <-over:
				running = false
			case <-ticker.C:
			}
			d.check()
		}
	})
	err := run(ctx)
	close(over)
	wg.Wait()
	return err
}

// check reports what has changed. No lock may be held.
func (d *Detector) check() {
	for _, m := range d.compare(time.Now()) {
		d.report(m)
	}
}

// compare returns the mutations that were not reported, and forgets objects that left the store long ago.
func (d *Detector) compare(now time.Time) (found []Mutation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.current {
		found = d.compareOne(found, w)
	}
	for _, w := range d.former {
		found = d.compareOne(found, w)
	}
	d.former = slices.DeleteFunc(d.former, func(w *watched) bool { return now.Sub(w.left) > retain })
	return found
}

func (d *Detector) compareOne(found []Mutation, w *watched) []Mutation {
	if w.reported || reflect.DeepEqual(any(w.obj), any(w.copy)) {
		return found
	}
	w.reported = true
	diff := firstDifference(w.copy, w.obj)
	return append(found, Mutation{
		Informer: d.informer, Key: w.key, ResourceVersion: w.version,
		Path: diff.path, Was: diff.was, Is: diff.is,
	})
}
