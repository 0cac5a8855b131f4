package reflector

import (
	"context"
	"fmt"
	"time"

	"glasswatch/listwatch"
	"glasswatch/observe"
)

// Sink is what the reflector keeps equal to the server: a queue or a store. All calls come from the goroutine that runs
// [Reflector.Run], in the order of the server's events.
//
// An error of a sink is counted and reported, and the reflector goes on: the call is not repeated. But if Replace returns
// one, the list has failed, and another follows, at the latest after a wait. A Sink may block: that holds up the watch
// only. A panic ends Run and reaches its caller.
type Sink[T listwatch.Object] interface {
	// Add, Update and Delete own the object they are given, unless they return an error. Add may be called for an
	// object that is there already, and Update for one that is not.
	Add(obj T) error
	Update(obj T) error
	Delete(obj T) error
	// DeleteKey is a deletion whose object could not be read.
	DeleteKey(key listwatch.Key) error
	// Replace makes objs, and whatever version there is of keep, the whole content at resourceVersion. keep are objects
	// that the server has, but whose version could not be read. Both slices belong to the sink.
	Replace(objs []T, keep []listwatch.Key, resourceVersion string) error
	// Bookmark says that the sink is as the server was at resourceVersion.
	Bookmark(resourceVersion string) error
}

// BatchSink is a Sink that takes many changes at once, with one lock and one wakeup for all of them. The informer's
// in-order queue is one: see [glasswatch/sharedinformer]. A sink without it is called for each change.
type BatchSink[T listwatch.Object] interface {
	Sink[T]
	// PutBatch is Add, Update or Delete for each event in order, by its type, which is Added, Modified or Deleted. It
	// returns nil, or what those would have returned, one for each event. The slice is the caller's.
	PutBatch(events []listwatch.Event[T]) []error
}

// SinkError is an error that the sink returned. It goes to [Options.OnError].
type SinkError struct {
	Op  string        // the Sink's method: "Add", "Replace", …
	Key listwatch.Key // zero for Replace and Bookmark
	Err error         // what the sink returned; never nil
}

// Error names the call and the object, if it is about one.
func (e *SinkError) Error() string {
	if e.Key == (listwatch.Key{}) {
		return fmt.Sprintf("sink refused %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("sink refused %s of %q: %v", e.Op, e.Key.String(), e.Err)
}

// Unwrap returns Err.
func (e *SinkError) Unwrap() error { return e.Err }

// sinkCalls are the names of the Sink's methods, by the type of the event that each is called for.
var sinkCalls = [...]string{listwatch.Added: "Add", listwatch.Modified: "Update", listwatch.Deleted: "Delete"}

// replace gives the sink a list, streamed or paged. Its version is the truth even if it is older than the one before.
// The list is counted first, so that a goroutine that learns of it from the sink finds it in Stats. If
// the sink returns an error, replace returns a *SinkError, and the version stays.
func (r *Reflector[T]) replace(ctx context.Context, list *listwatch.List[T], took time.Duration) error {
	r.update(func() {
		r.stats.ListedObjects += uint64(len(list.Items) + len(list.Bad))
		r.stats.ListTime += took
	})
	var keep []listwatch.Key
	for _, bad := range list.Bad {
		if bad.Key != (listwatch.Key{}) {
			keep = append(keep, bad.Key)
		}
	}
	r.observeList(list, keep)
	err := r.sink.Replace(list.Items, keep, list.ResourceVersion)
	if err != nil {
		return &SinkError{Op: "Replace", Err: err}
	}
	r.askLatest = false
	r.update(func() { r.version = list.ResourceVersion })
	r.log(ctx, 2, "Caches populated")
	return nil
}

// put gives the sink changes; one, if it takes no batches. An object that the sink took over is not read any more.
func (r *Reflector[T]) put(ctx context.Context, events []listwatch.Event[T]) {
	r.observeEvents(observe.Handed, events)
	var errs []error
	switch obj := events[0].Object; {
	case r.batches != nil:
		errs = r.batches.PutBatch(events)
	case events[0].Type == listwatch.Added:
		errs = []error{r.sink.Add(obj)}
	case events[0].Type == listwatch.Modified:
		errs = []error{r.sink.Update(obj)}
	default:
		errs = []error{r.sink.Delete(obj)}
	}
	for i, err := range errs {
		if err != nil { // else the object is the sink's
			r.checkSink(ctx, sinkCalls[events[i].Type], listwatch.KeyOf(events[i].Object), err)
		}
	}
}

// checkSink reports what the sink returned, if that is an error.
func (r *Reflector[T]) checkSink(ctx context.Context, op string, key listwatch.Key, err error) {
	if err != nil {
		r.report(ctx, &SinkError{Op: op, Key: key, Err: err})
	}
}
