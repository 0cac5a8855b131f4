package reflector

import (
	"time"

	"glasswatch/listwatch"
	"glasswatch/observe"
)

// Stats counts what a reflector has done since New.
type Stats struct {
	StreamingLists uint64 // streaming lists that were complete
	PagedLists     uint64 // paged lists that were complete
	ListedObjects  uint64 // objects in those lists, unreadable ones included
	Watches        uint64 // watches that the server answered, without streaming lists
	EndedWatches   uint64 // watches that have ended, the second halves of streaming lists among them
	ShortWatches   uint64 // those of less than a second without anything worth having
	Events         uint64 // objects passed on from a watch
	Bookmarks      uint64 // bookmarks passed on
	ObjectErrors   uint64 // events and list items that could not be read
	SinkErrors     uint64 // errors of the sink
	Failures       uint64 // errors of lists and watches

	ListTime  time.Duration // what the complete lists took, all together
	WatchTime time.Duration // what the ended watches took, all together
}

type observation = observe.Observation[listwatch.Key]

// observe shows the observer, if there is one, what passes at a step. Meanwhile the stream's deadline is put off: the
// observer's time is no silence of the server.
func (r *Reflector[T]) observe(step observe.Step, describe func() []observation) {
	if r.opts.Observe == nil {
		return
	}
	seen := describe()
	for i := range seen {
		seen[i].From, seen[i].Step = r.opts.Name, step
	}
	if s := r.current.stream; s != nil && !s.deadline.IsZero() {
		left := time.Until(s.deadline)
		s.timer.Stop()
		defer s.setDeadline(left)
	}
	r.opts.Observe(seen)
}

func (r *Reflector[T]) observeOne(step observe.Step, what observation) {
	r.observe(step, func() []observation { return []observation{what} })
}

// observeEvents shows events, if there are any: decoded ones by the server's names, and others by the method of the sink
// that is called.
func (r *Reflector[T]) observeEvents(step observe.Step, events []listwatch.Event[T]) {
	if len(events) == 0 {
		return
	}
	r.observe(step, func() (seen []observation) {
		for _, ev := range events {
			o := observation{Kind: ev.Type.String(), Version: ev.ResourceVersion}
			if step == observe.Handed {
				o.Kind = sinkCalls[ev.Type]
			}
			if isChange(ev.Type) {
				o.Key = listwatch.KeyOf(ev.Object)
			}
			seen = append(seen, o)
		}
		return seen
	})
}

// observeList shows a list that the sink is given next: its version, what cannot be read, and the objects.
func (r *Reflector[T]) observeList(list *listwatch.List[T], keep []listwatch.Key) {
	r.observe(observe.Handed, func() []observation {
		seen := []observation{{Kind: "Replace", Version: list.ResourceVersion}}
		for _, key := range keep {
			seen = append(seen, observation{Kind: "Replace", Key: key})
		}
		for _, obj := range list.Items {
			seen = append(seen, observation{Kind: "Replace", Key: listwatch.KeyOf(obj), Version: obj.GetResourceVersion()})
		}
		return seen
	})
}
