package look

import (
	"glasswatch/listwatch"
	"glasswatch/observe"
)

// Of turns what a layer reports of objects of a kind into events. A controller's keys have no kind.
func Of(kind string, seen []observe.Observation[listwatch.Key]) []Event {
	events := make([]Event, len(seen))
	for i, o := range seen {
		events[i] = Event{
			At: Boundary(o.Step), Kind: kind, Key: NameOf(o.Key), Action: o.Kind, RV: o.Version, Handler: o.Handler,
			Delay: o.Delay.Microseconds(), Initial: o.IsInInitialList, Tombstone: o.FinalStateUnknown,
		}
		if o.Old != nil {
			events[i].Old = o.Old.GetResourceVersion()
		}
		if o.Err != nil {
			events[i].Error = o.Err.Error()
		}
	}
	return events
}
