// Command 05-deltafifo shows the log between watch and store: the queue of deltas per key, and the in-order queue.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"glasswatch/cmd/internal/demo"
	"glasswatch/deltafifo"
	"glasswatch/indexer"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "05-deltafifo", Title: "What happened to one object, or what happened next",
	Layer: "deltafifo/doc.go", Next: "docs/learn/tour.md, chapter 4", Tell: demo.Steps(grows, histories)}

// An object is a text here: a2 is version 2 of a.
type (
	options = deltafifo.Options[string, string]
	store   = indexer.Store[string, string]
	queue   interface { // what both kinds have
		Add(object string) error
		Update(object string) error
		Delete(object string) error
		DeleteKey(key string) error
		Replace(list, keep []string, resourceVersion string) error
		Resync() error
		Bookmark(resourceVersion string) error
		PopBatch(func(ds []deltafifo.Delta[string, string], isInInitialList bool) error) error
		Len() int
	}
)

func key(object string) (string, error) { return object[:1], nil }

func newStore(objects string) *store {
	s := indexer.New(indexer.Options[string, string]{KeyFunc: key, Compare: strings.Compare})
	demo.Check(s.Replace(strings.Fields(objects), ""))
	return s
}

func perKey(s *store) queue {
	return deltafifo.NewDeltaFIFO(options{KeyFunc: key, Known: s})
}

func inOrder(*store) queue {
	return deltafifo.NewInOrder(options{KeyFunc: key, BatchSize: 1})
}

// play makes the calls to a queue, and then pops it. The consumer applies the deltas to the store. The function pop
// gets the deltas of each pop; a ? stands for an unknown final state.
func play(q queue, s *store, calls []string, pop func(deltas []string)) {
	for _, call := range calls {
		verb, rest, _ := strings.Cut(call, " ")
		demo.Check(map[string]func() error{
			"Add":       func() error { return q.Add(rest) },
			"Update":    func() error { return q.Update(rest) },
			"Delete":    func() error { return q.Delete(rest) },
			"DeleteKey": func() error { return q.DeleteKey(rest) },
			"Replace":   func() error { return q.Replace(strings.Fields(rest), nil, rest[len(rest)-1:]) },
			"Resync":    q.Resync,
			"Bookmark":  func() error { return q.Bookmark(rest) },
		}[verb]())
	}
	for q.Len() > 0 {
		var texts []string
		demo.Check(q.PopBatch(func(ds []deltafifo.Delta[string, string], _ bool) error {
			for _, x := range ds {
				text := x.Type.String() + " " + x.Obj + map[bool]string{true: "?"}[x.FinalStateUnknown]
				switch x.Type {
				case deltafifo.Deleted:
					s.DeleteKey(x.Key)
				case deltafifo.ReplacedAll:
					var list []string
					for _, item := range x.Bulk.Items {
						list = append(list, item.Obj)
					}
					text += fmt.Sprint(list)
					demo.Check(s.Replace(list, x.Bulk.ResourceVersion))
				case deltafifo.Bookmark:
					s.Bookmark(x.Bulk.ResourceVersion)
				case deltafifo.Added, deltafifo.Updated, deltafifo.Replaced:
					demo.Check(s.Update(x.Obj))
				}
				texts = append(texts, strings.TrimSpace(text))
			}
			return nil
		}))
		pop(texts)
	}
}

func grows(ctx context.Context, d *demo.Demo) {
	d.Step("Deltas per key grow, and fold")
	demo.Check(ctx.Err()) // the queues do not end with the context
	d.Did("store c0; a call more on each line. a2 is version 2 of a; b3? is a b whose deletion nobody saw, as it was last known")
	calls := []string{"Add a1", "Update a2", "Add b3", "Update a4", "DeleteKey b", "Delete b5", "Resync"}
	for n, call := range calls {
		text, s := "", newStore("c0")
		play(perKey(s), s, calls[:n+1], func(deltas []string) { text += fmt.Sprintf("  [%s]", strings.Join(deltas, ", ")) })
		d.Saw("%-11s%s", call, text)
	}
	d.Why("updates are all kept; of two deletions in a row the better informed stays; Sync is for what has nothing pending")
}

func content(s *store) string { return fmt.Sprint(slices.Sorted(slices.Values(s.List()))) }

// both shows the same history through both queues, and the store after each pop. The server's state is that of a store
// that gets each call before the next one.
func both(d *demo.Demo, objects string, calls ...string) {
	d.Did("store %s; %s", objects, strings.Join(calls, ", "))
	server := newStore(objects)
	had := map[string]bool{content(server): true}
	for _, call := range calls {
		play(inOrder(server), server, []string{call}, func([]string) { had[content(server)] = true })
	}
	for _, kind := range []func(*store) queue{perKey, inOrder} {
		s := newStore(objects)
		q := kind(s)
		play(q, s, calls, func(deltas []string) {
			never := map[bool]string{false: ", a state that the history lacks"}[had[content(s)]]
			name := strings.Split(fmt.Sprintf("%T", q), "[")[0][len("*deltafifo."):]
			d.Saw("%-9s %-26s store %s%s", name, strings.Join(deltas, ", "), content(s), never)
		})
		d.Saw("%26s and the store's version is %q", "", s.ResourceVersion())
	}
}

func histories(_ context.Context, d *demo.Demo) {
	d.Step("Replace: what a list lacks becomes a tombstone; in order, a list is one event")
	both(d, "a1 b2", "Add c3", "Replace b4 d5")
	d.Why("a tombstone has the last version that anybody knew. In order the consumer sees from its store what is gone")
	d.Step("Resync: a Sync for each object with nothing pending, or one event")
	both(d, "a1 b2", "Update a3", "Resync")
	d.Step("A watch, and why client-go changed")
	both(d, "a1 b2", "Update a3", "Update b4", "Update a5", "Bookmark 6")
	d.Why("per key a5 overtakes b4, so the store is as the server never was, no version is true of it, and a bookmark is dropped.\n" +
		"In order the store is the server's past, with a version to wait for or to resume at; and a queue that asks the " +
		"store nothing needs no lock while the consumer is at work. Since 1.33 client-go has that order by default")
}
