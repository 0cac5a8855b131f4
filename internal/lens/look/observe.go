package look

import (
	"glasswatch/controller"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

// handedAs names the method of the sink that takes an event of a watch.
var handedAs = map[listwatch.EventType]string{
	listwatch.Added: "Add", listwatch.Modified: "Update", listwatch.Deleted: "Delete",
}

// OfReflector turns what a reflector on objects of a kind reports into events.
func OfReflector(kind string, o reflector.Observation) []Event {
	switch {
	case o.Boundary == reflector.StateEntered:
		return []Event{{At: State, Kind: kind, Action: o.State.String()}}
	case o.Boundary == reflector.HandedOver && o.Op != "" && len(o.Keys) == 0:
		return []Event{{At: Handed, Kind: kind, Action: o.Op, RV: o.ResourceVersion}}
	}
	events := make([]Event, 0, len(o.Events)+len(o.Keys))
	for _, key := range o.Keys {
		e := Event{At: Handed, Kind: kind, Action: o.Op, Key: NameOf(key), Tombstone: o.Op == "DeleteKey"}
		events = append(events, e)
	}
	for _, ev := range o.Events {
		e := Event{At: Decoded, Kind: kind, Action: ev.Type.String(), RV: ev.ResourceVersion}
		if ev.Object != nil {
			e.Key = NameOf(listwatch.KeyOf(ev.Object))
		}
		if o.Boundary == reflector.HandedOver {
			e.At, e.Action = Handed, handedAs[ev.Type]
		}
		events = append(events, e)
	}
	return events
}

// stepAt is the boundary of an informer's step.
var stepAt = map[sharedinformer.Step]Boundary{
	sharedinformer.BatchPopped: Popped, sharedinformer.BatchStored: Stored,
	sharedinformer.HandlerCalled: Called, sharedinformer.HandlerReturned: Returned,
}

// OfInformer turns what an informer on objects of a kind reports into events.
func OfInformer(kind string, o sharedinformer.Observation) []Event {
	if len(o.Changes) == 0 && o.Step == sharedinformer.BatchPopped {
		return []Event{{At: Popped, Kind: kind, Action: "ReplacedAll", RV: o.ResourceVersion}} // an empty list
	}
	events := make([]Event, 0, len(o.Changes))
	for _, c := range o.Changes {
		e := Event{
			At: stepAt[o.Step], Kind: kind, Key: NameOf(c.Key), Action: c.Action, Handler: o.Handler,
			Initial: c.IsInInitialList, Tombstone: c.FinalStateUnknown,
		}
		if c.Obj != nil {
			e.RV = c.Obj.GetResourceVersion()
		} else if c.Key == (listwatch.Key{}) {
			e.RV = o.ResourceVersion
		}
		if c.Old != nil && c.Action != "removed" {
			e.Old = c.Old.GetResourceVersion()
		}
		events = append(events, e)
	}
	return events
}

// controllerSays is where an observation of a controller belongs, and what it did.
var controllerSays = map[string]Event{
	controller.StepQueued:     {At: Queued, Action: "Add"},
	controller.StepTaken:      {At: Taken, Action: "Get"},
	controller.StepReconciled: {At: Reconciled, Action: "ok"},
	controller.StepForgotten:  {At: Forgotten, Action: "Forget"},
	controller.StepPutOff:     {At: PutOff, Action: "AddAfter"},
}

// OfController turns what the controller reports into an event.
func OfController(o controller.Observation[listwatch.Key]) Event {
	e := controllerSays[o.What]
	e.Key, e.Delay = NameOf(o.Key), o.Delay.Microseconds()
	if e.At == Queued && e.Delay > 0 {
		e.Action = "AddAfter"
	}
	if o.Err != nil {
		e.Action, e.Error = "failed", o.Err.Error()
	}
	return e
}
