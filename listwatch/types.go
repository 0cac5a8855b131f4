package listwatch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Object is what the layers above carry: a typed Kubernetes object such as *corev1.Service, an
// *unstructured.Unstructured or a *metav1.PartialObjectMetadata.
type Object interface {
	metav1.Object
	runtime.Object
}

// Key names an object within its resource. Namespace is empty for an object of cluster scope.
type Key = types.NamespacedName

// KeyOf returns the key of obj, which must not be nil. It allocates nothing.
func KeyOf(obj metav1.Object) Key {
	return Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// EventType says what happened to an object. The zero value is no event.
type EventType uint8

// The event types of a watch. An ERROR event is not among them: [Stream.Next] returns it as an error.
const (
	Added EventType = iota + 1
	Modified
	Deleted
	Bookmark
)

var eventTypes = map[string]EventType{"ADDED": Added, "MODIFIED": Modified, "DELETED": Deleted, "BOOKMARK": Bookmark}

// String returns the name that the wire uses: ADDED, MODIFIED, DELETED, BOOKMARK.
func (t EventType) String() string {
	for name, typ := range eventTypes {
		if typ == t {
			return name
		}
	}
	return fmt.Sprintf("EventType(%d)", uint8(t))
}

// Event is one event of a watch.
type Event[T Object] struct {
	Type EventType
	// Object is the new version, or for Deleted the last one. It belongs to the receiver. Zero for a Bookmark.
	Object T
	// ResourceVersion is that of the object, or of the bookmark. A watch from here on misses nothing after this event.
	// Not so an initial event: those come in any order.
	ResourceVersion string
	// InitialEventsEnd marks the Bookmark that ends the initial events of a streaming list.
	InitialEventsEnd bool
}

// ObjectError is one watch event or one list item that could not be read as a T: another type, a field of the wrong type,
// no name. It costs that object only: the rest of the list is there, and the stream goes on. (Bytes among which the next
// frame cannot be found are another error, which ends the stream.)
type ObjectError struct {
	// Type is the event's type; zero for an item of a list, or if not even that could be read.
	Type EventType
	// Key is zero if it could not be read.
	Key Key
	// ResourceVersion is empty if it could not be read.
	ResourceVersion string
	// Err says what is wrong; never nil.
	Err error
}

// Error names the object, as far as it is known, and what is wrong with it.
func (e *ObjectError) Error() string {
	what := "object"
	if e.Type != 0 {
		what = e.Type.String() + " event"
	}
	name := "of unknown name"
	if e.Key != (Key{}) {
		name = fmt.Sprintf("%q", e.Key.String())
		if e.Key.Namespace == "" {
			name = fmt.Sprintf("%q", e.Key.Name)
		}
	}
	if e.ResourceVersion != "" {
		name += " at resourceVersion " + e.ResourceVersion
	}
	return fmt.Sprintf("unreadable %s %s: %v", what, name, e.Err)
}

// Unwrap returns Err.
func (e *ObjectError) Unwrap() error { return e.Err }

// List is one page of a list, or with an empty Continue the last or only one.
type List[T Object] struct {
	// ResourceVersion is never empty in what Client and Funcs return without an error.
	ResourceVersion string
	// Continue is the token that asks for the next page; empty if there is none.
	Continue string
	// RemainingItemCount is the server's estimate of the items after this page; nil if it gave none.
	RemainingItemCount *int64
	// Items belong to the receiver. They are in the server's order.
	Items []T
	// Bad are items that the server has but that could not be read. For the reflector those with a key are present.
	Bad []*ObjectError
}

// Stream is the pull side of a watch. Next is for one goroutine at a time; Close may be called from any.
type Stream[T Object] interface {
	// Next blocks until an event has arrived and decodes it in the caller's goroutine. Its errors:
	//
	//   - io.EOF: the stream ended cleanly, between two frames;
	//   - an *[ObjectError]: this event could not be read; call Next again for the one after it;
	//   - an *apierrors.StatusError: the server sent an ERROR event, such as 410 Expired;
	//   - [ErrClosed] after Close, or the cause (context.Cause), if the watch's context was cancelled;
	//   - anything else: the stream broke, for instance in the middle of a frame.
	//
	// After an error other than an *ObjectError there is nothing more to come: the caller closes the stream, and Next
	// goes on returning an error.
	Next() (Event[T], error)
	// Close ends the watch, frees what it holds and makes a waiting Next return at once. It does not wait for that
	// Next. A second Close does nothing and returns nil.
	Close() error
}

// BatchStream is a Stream that may have several events ready, as those of [Client.Watch] and [Funcs] do. Taking them
// together costs the queue behind it one lock and one wakeup of its consumer, instead of one for each event. A stream without it is slower
// and nothing else, so it is not part of Stream. Whoever pulls asks for it, and calls Next if it is not there.
//
// Next and NextBatch may be called in turn, by one goroutine at a time.
type BatchStream[T Object] interface {
	Stream[T]
	// NextBatch is Next for as many events as there are: it blocks for the first, puts it and those that need not be
	// waited for into the slice, in order, and returns how many they are: none if an object of another shard came
	// first. The slice must not be empty. An error is what Next would have returned, and comes alone: the events
	// before it came with the call before.
	NextBatch(into []Event[T]) (int, error)
}

// ListerWatcher lists and watches one resource. Its methods are safe for concurrent use.
type ListerWatcher[T Object] interface {
	// List returns ONE page: opts.Limit and opts.Continue are the server's. Whoever wants them all uses [ListAll].
	List(ctx context.Context, opts metav1.ListOptions) (*List[T], error)
	// Watch returns once the server has answered. Cancelling ctx ends the stream too, so ctx must live as long as the
	// stream shall.
	Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error)
}
