package ingress

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/controller"
	"glasswatch/listwatch"
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

// traceLoop reports what the controller does with its queue. What a reconcile has done is reported by the Reconciler.
func traceLoop(o controller.Observation[listwatch.Key], report func(Trace)) {
	action := ""
	switch o.What {
	case "queued":
		action = "Add"
	case "taken":
		action = "Get"
	case "forgotten":
		action = "Forget"
	case "put off":
		action = "AddAfter " + o.Delay.String()
	default:
		return
	}
	report(Trace{Layer: "workqueue", Action: action, Key: o.Key})
}
