package ingress

import (
	"glasswatch/controller"
	"glasswatch/listwatch"
	"glasswatch/reflector"
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

// layerOf is the layer that a step of an informer belongs to.
var layerOf = map[sharedinformer.Step]string{
	sharedinformer.BatchPopped:   "deltafifo",
	sharedinformer.BatchStored:   "indexer",
	sharedinformer.HandlerCalled: "sharedinformer",
}

// traceInformer reports what an informer on objects of a kind does with each change.
func traceInformer(o sharedinformer.Observation, kind string, report func(Trace)) {
	layer := layerOf[o.Step]
	if layer == "" {
		return
	}
	for _, c := range o.Changes {
		if c.Key == (listwatch.Key{}) {
			continue // a bookmark or a resync
		}
		t := Trace{Layer: layer, Kind: kind, Action: c.Action, Key: c.Key}
		if c.Obj != nil {
			t.ResourceVersion = c.Obj.GetResourceVersion()
		}
		if c.Action == "replaced" {
			t.Action += " rv " + c.Old.GetResourceVersion()
		}
		report(t)
	}
}

// traceReflector reports the events of a watch, as they come from the wire and as they go to the queue, and lists.
func traceReflector(o reflector.Observation, kind string, report func(Trace)) {
	for _, key := range o.Keys {
		report(Trace{Layer: "reflector", Kind: kind, Action: o.Op, Key: key})
	}
	for _, e := range o.Events {
		if e.Object == nil {
			continue // a bookmark
		}
		t := Trace{Kind: kind, Key: listwatch.KeyOf(e.Object), ResourceVersion: e.ResourceVersion}
		switch {
		case o.Boundary == reflector.EventsDecoded:
			t.Layer, t.Action = "listwatch", e.Type.String()
		case e.Type == listwatch.Added:
			t.Layer, t.Action = "reflector", "Add"
		case e.Type == listwatch.Modified:
			t.Layer, t.Action = "reflector", "Update"
		default:
			t.Layer, t.Action = "reflector", "Delete"
		}
		report(t)
	}
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
