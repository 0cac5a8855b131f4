package lens

import (
	"fmt"
	"slices"
	"strings"

	"glasswatch/controller"
	"glasswatch/sharedinformer"
)

// ObserveInformer returns what an informer's Options.Observe is set to. The name is what the page calls it, such as
// "services". Two informers need two names.
func (l *Lens) ObserveInformer(name string) func(sharedinformer.Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.informerLocked(name).isObserved = true
	return func(o sharedinformer.Observation) {
		if !l.on.Load() {
			return
		}
		switch o.Step {
		case sharedinformer.BatchPopped:
			if !isResync(o.Changes) {
				l.heard(name)
			}
		case sharedinformer.HandlerCalled:
			change := o.Changes[0]
			c := Cause{Informer: name, Handler: o.Handler, Object: nameOf(change.Key)}
			if change.Obj != nil {
				c.ResourceVersion = change.Obj.GetResourceVersion()
				c.uid = change.Obj.GetUID()
			}
			isUpdate := change.Action == "OnUpdate"
			switch {
			case change.Action == "OnDelete":
				c.Action = "delete"
			case isUpdate && change.Old.GetResourceVersion() == c.ResourceVersion:
				c.Action = "resync"
			case isUpdate:
				c.Action = "update"
			default:
				c.Action = actionOfAdd(change.IsInInitialList)
			}
			l.called(c, func() []string { return changedFields(change.Old, change.Obj) })
		case sharedinformer.HandlerReturned:
			l.returned(goroutine(), name, o.Handler)
		}
	}
}

// isResync reports whether nothing in a batch came from the server. An empty list did.
func isResync(changes []sharedinformer.Change) bool {
	fromServer := func(c sharedinformer.Change) bool { return !strings.HasPrefix(c.Action, "Sync") }
	return len(changes) > 0 && !slices.ContainsFunc(changes, fromServer)
}

func actionOfAdd(isInInitialList bool) string {
	if isInInitialList {
		return "list"
	}
	return "add"
}

// ObserveController returns what a controller's Options.Observe is set to. The name is what the page calls it.
func ObserveController[K comparable](l *Lens, name string) func(controller.Observation[K]) {
	knowKeysOf[K](l, name)
	return func(o controller.Observation[K]) {
		if !l.on.Load() {
			return
		}
		key := nameOf(o.Key)
		switch o.What {
		case controller.StepQueued:
			l.enqueued(name, o.Key, "the program", o.Delay)
		case controller.StepTaken:
			l.taken(name, o.Key)
		case controller.StepReconciled:
			l.ended(name, key, outcomeOf(o.Err))
			l.done(name, key)
		case controller.StepPutOff:
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
func nameOf(key any) string { return strings.TrimPrefix(fmt.Sprint(key), "/") }
