package ingress

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// Trace is one change crossing one layer.
type Trace struct {
	Layer           string // the name of the package
	Kind            string // of the object; "" for a bare key
	Action          string // what the layer did with it
	Key             listwatch.Key
	ResourceVersion string // "" where the layer knows keys only
}

// traced reports what the wire brings.
type traced[T listwatch.Object] struct {
	listwatch.ListerWatcher[T]
	report func(action string, key listwatch.Key, resourceVersion string)
}

func (t traced[T]) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[T], error) {
	stream, err := t.ListerWatcher.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	return tracedStream[T]{stream, t.report}, nil
}

type tracedStream[T listwatch.Object] struct {
	listwatch.Stream[T]
	report func(action string, key listwatch.Key, resourceVersion string)
}

func (s tracedStream[T]) Next() (listwatch.Event[T], error) {
	event, err := s.Stream.Next()
	if err == nil && event.Type != listwatch.Bookmark {
		s.report(event.Type.String(), listwatch.KeyOf(event.Object), event.ResourceVersion)
	}
	return event, err
}

// tracedHandler reports which key a change puts into the workqueue.
type tracedHandler[T listwatch.Object] struct {
	sharedinformer.Handler[T]
	report func(Trace)
}

func (h tracedHandler[T]) trace(key listwatch.Key) {
	h.report(Trace{Layer: "workqueue", Action: "Add", Key: key})
}

func (h tracedHandler[T]) OnAdd(obj T, isInInitialList bool) {
	h.trace(listwatch.KeyOf(obj))
	h.Handler.OnAdd(obj, isInInitialList)
}

func (h tracedHandler[T]) OnUpdate(oldObj, newObj T) {
	h.trace(listwatch.KeyOf(newObj))
	h.Handler.OnUpdate(oldObj, newObj)
}

func (h tracedHandler[T]) OnDelete(d sharedinformer.Deletion[T]) {
	h.trace(d.Key)
	h.Handler.OnDelete(d)
}
