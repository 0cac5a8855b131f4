package reflector

import (
	"time"

	"glasswatch/listwatch"
	"glasswatch/observe"
)

type observation = observe.Observation[listwatch.Key]

// observe calls the observer, which must be there. The time that it takes does not count as silence of the server.
func (r *Reflector[T]) observe(seen ...observation) {
	for i := range seen {
		seen[i].From = r.opts.Name
	}
	if s := r.current.stream; s != nil {
		left := time.Until(s.deadline)
		s.timer.Stop()
		defer s.setDeadline(left)
	}
	r.opts.Observe(seen)
}

// observeEvents shows the observer, if there is one, events at a step.
func (r *Reflector[T]) observeEvents(step observe.Step, events []listwatch.Event[T]) {
	if r.opts.Observe == nil || len(events) == 0 {
		return
	}
	seen := make([]observation, len(events))
	for i, ev := range events {
		seen[i] = observation{Step: step, Kind: ev.Type.String(), Version: ev.ResourceVersion}
		if isChange(ev.Type) {
			seen[i].Key = listwatch.KeyOf(ev.Object)
		}
		if step == observe.Handed {
			seen[i].Kind = sinkCalls[ev.Type]
		}
	}
	r.observe(seen...)
}

// observeList shows the observer, if there is one, that the sink is given a list next: its version, then its objects.
func (r *Reflector[T]) observeList(list *listwatch.List[T], keep []listwatch.Key) {
	if r.opts.Observe == nil {
		return
	}
	seen := []observation{{Step: observe.Handed, Kind: "Replace", Version: list.ResourceVersion}}
	for _, key := range keep {
		seen = append(seen, observation{Step: observe.Handed, Kind: "Replace", Key: key})
	}
	for _, obj := range list.Items {
		seen = append(seen, observation{
			Step: observe.Handed, Kind: "Replace", Key: listwatch.KeyOf(obj), Version: obj.GetResourceVersion(),
		})
	}
	r.observe(seen...)
}
