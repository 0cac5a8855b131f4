package lens

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/tools/cache"

	"glasswatch/listwatch"
	"glasswatch/observe"
)

// ObserveInformer returns what an informer's Options.Observe is set to. The name is what the page calls it, such as
// "services". Two informers need two names.
func (l *Lens) ObserveInformer(name string) func([]observe.Observation[listwatch.Key]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.informerLocked(name).isObserved = true
	// Of the handlers that are in a call, by name; 0 if that is not sure: a removed handler that is still in its last call,
	// and the next one of its name, are two.
	var goroutines sync.Map
	return func(seen []observe.Observation[listwatch.Key]) {
		if !l.on.Load() {
			return
		}
		switch o := seen[0]; o.Step {
		case observe.Popped:
			if !isResync(seen) {
				l.heard(name)
			}
		case observe.Called:
			c := Cause{Informer: name, Handler: o.Handler, Object: nameOf(o.Key), ResourceVersion: o.Version}
			if o.Obj != nil {
				c.uid = o.Obj.GetUID()
			}
			isUpdate := o.Kind == "OnUpdate"
			switch {
			case o.Kind == "OnDelete":
				c.Action = "delete"
			case isUpdate && o.Old.GetResourceVersion() == o.Version:
				c.Action = "resync"
			case isUpdate:
				c.Action = "update"
			default:
				c.Action = actionOfAdd(o.IsInInitialList)
			}
			self := l.called(c, func(c *Cause) { c.compare(o.Old, o.Obj) })
			other, found := goroutines.LoadOrStore(o.Handler, self)
			if found && other != self {
				goroutines.Store(o.Handler, int64(0))
			}
		case observe.Returned:
			known, _ := goroutines.Load(o.Handler)
			self, _ := known.(int64)
			if self == 0 {
				self = goroutine()
			}
			goroutines.CompareAndDelete(o.Handler, self)
			l.returned(self, name, o.Handler)
		}
	}
}

// isResync reports whether nothing in a batch came from the server.
func isResync(batch []observe.Observation[listwatch.Key]) bool {
	fromServer := func(o observe.Observation[listwatch.Key]) bool { return !strings.HasPrefix(o.Kind, "Sync") }
	return !slices.ContainsFunc(batch, fromServer)
}

func actionOfAdd(isInInitialList bool) string {
	if isInInitialList {
		return "list"
	}
	return "add"
}

// ObserveController returns what a controller's Options.Observe is set to. The name is what the page calls it.
func ObserveController[K comparable](l *Lens, name string) func([]observe.Observation[K]) {
	knowKeysOf[K](l, name)
	return func(seen []observe.Observation[K]) {
		if !l.on.Load() {
			return
		}
		o := seen[0]
		key := nameOf(o.Key)
		switch o.Step {
		case observe.Queued:
			l.enqueued(name, o.Key, "the program", o.Delay)
		case observe.Taken:
			l.taken(name, o.Key)
		case observe.Reconciled:
			l.doneWith(name, key, outcomeOf(o.Err))
		case observe.PutOff:
			l.enqueued(name, o.Key, l.reasonToComeBack(name, key), o.Delay)
		}
	}
}

func outcomeOf(err error) string {
	if err != nil {
		return failed + ": " + err.Error()
	}
	return "ok"
}

// reasonToComeBack says why a key is enqueued again after its reconcile has ended.
func (l *Lens) reasonToComeBack(controller, key string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	past := l.storyLocked(controller, key).reconciles
	if len(past) > 0 && strings.HasPrefix(past[len(past)-1].Outcome, failed) {
		return "retry"
	}
	return "later"
}

// nameOf returns a key as people write it. The String of a types.NamespacedName of cluster scope begins with a slash.
func nameOf(key any) string {
	switch k := key.(type) { // the usual ones, without the reflection of fmt
	case string:
		return strings.TrimPrefix(k, "/")
	case listwatch.Key:
		return strings.TrimPrefix(k.String(), "/")
	case cache.ObjectName:
		return k.String()
	}
	return strings.TrimPrefix(fmt.Sprint(key), "/")
}
