package reflector

import (
	"time"

	"glasswatch/listwatch"
	"glasswatch/observe"
)

type observation = observe.Observation[listwatch.Key]

// observe shows the observer, if there is one, what passes at a step. Meanwhile the stream's deadline is put off: the
// observer's time is no silence of the server.
func (r *Reflector[T]) observe(step observe.Step, seen ...observation) {
	if r.opts.Observe == nil {
		return
	}
	for i := range seen {
		seen[i].From, seen[i].Step = r.opts.Name, step
	}
	if s := r.current.stream; s != nil {
		left := time.Until(s.deadline)
		s.timer.Stop()
		defer s.setDeadline(left)
	}
	r.opts.Observe(seen)
}

// observeEvents shows events: decoded ones by the server's names, and others by the method of the sink that is called.
func (r *Reflector[T]) observeEvents(step observe.Step, events []listwatch.Event[T]) {
	if r.opts.Observe == nil || len(events) == 0 {
		return
	}
	seen := make([]observation, len(events))
	for i, ev := range events {
		seen[i] = observation{Kind: ev.Type.String(), Version: ev.ResourceVersion}
		if step == observe.Handed {
			seen[i].Kind = sinkCalls[ev.Type]
		}
		if isChange(ev.Type) {
			seen[i].Key = listwatch.KeyOf(ev.Object)
		}
	}
	r.observe(step, seen...)
}

// observeList shows a list that the sink is given next: its version, what cannot be read, and the objects.
func (r *Reflector[T]) observeList(list *listwatch.List[T], keep []listwatch.Key) {
	if r.opts.Observe == nil {
		return
	}
	seen := []observation{{Kind: "Replace", Version: list.ResourceVersion}}
	for _, key := range keep {
		seen = append(seen, observation{Kind: "Replace", Key: key})
	}
	for _, obj := range list.Items {
		seen = append(seen, observation{Kind: "Replace", Key: listwatch.KeyOf(obj), Version: obj.GetResourceVersion()})
	}
	r.observe(observe.Handed, seen...)
}
