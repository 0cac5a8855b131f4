package deltafifo_test

import (
	"errors"
	"fmt"

	"glasswatch/deltafifo"
)

type service struct{ name, ports string }

func name(s service) (string, error) { return s.name, nil }

// shelf is a consumer's store.
type shelf map[string]service

func (s shelf) ListKeys() (keys []string) {
	for key := range s {
		keys = append(keys, key)
	}
	return keys
}

func (s shelf) GetByKey(key string) (service, bool) { found, ok := s[key]; return found, ok }

// A Delta says what happened to one object, and what it is now. A relist says what is there. Whatever it lacks becomes
// a Deleted delta, too: a tombstone with the last version that the queue or the store has.
func ExampleDeltaFIFO() {
	store := shelf{}
	queue := deltafifo.NewDeltaFIFO(deltafifo.Options[string, service]{KeyFunc: name, Known: store})
	pop := func() {
		queue.Pop(func(key string, deltas []deltafifo.Delta[string, service], isInInitialList bool) error {
			fmt.Printf("%s (initial list: %v)\n", key, isInInitialList)
			for _, d := range deltas {
				fmt.Printf("    %-8v %s final state unknown: %v\n", d.Type, d.Obj.ports, d.FinalStateUnknown)
				if d.Type == deltafifo.Deleted {
					delete(store, key)
				} else {
					store[key] = d.Obj
				}
			}
			return nil
		})
	}

	// The first list.
	queue.Replace([]service{{"web", "80"}, {"mail", "25"}}, nil, "10")
	pop()
	fmt.Println("synced:", queue.HasSynced())
	pop()
	fmt.Println("synced:", queue.HasSynced())

	// The watch: two changes of one object while nobody popped.
	queue.Update(service{"web", "80,443"})
	queue.Update(service{"web", "443"})
	pop()

	// The watch broke. When it is back, a list shows that mail is gone. Nobody saw it go.
	queue.Replace([]service{{"web", "443"}}, nil, "20")
	pop()
	pop()
	fmt.Println("left:", store.ListKeys())

	// Output:
	// web (initial list: true)
	//     Replaced 80 final state unknown: false
	// synced: false
	// mail (initial list: true)
	//     Replaced 25 final state unknown: false
	// synced: true
	// web (initial list: false)
	//     Updated  80,443 final state unknown: false
	//     Updated  443 final state unknown: false
	// web (initial list: false)
	//     Replaced 443 final state unknown: false
	// mail (initial list: false)
	//     Deleted  25 final state unknown: true
	// left: [web]
}

// The in-order queue tells the same story as it happened: the list is one event, and its consumer finds out what is gone.
func ExampleInOrder() {
	queue := deltafifo.NewInOrder(deltafifo.Options[string, service]{KeyFunc: name})
	store := shelf{}
	pop := func() {
		queue.PopBatch(func(batch []deltafifo.Delta[string, service], isInInitialList bool) error {
			fmt.Printf("a batch of %d (initial list: %v)\n", len(batch), isInInitialList)
			for _, d := range batch {
				switch d.Type {
				case deltafifo.ReplacedAll:
					fmt.Printf("    %v at resourceVersion %s: %d items\n", d.Type, d.Bulk.ResourceVersion, len(d.Bulk.Items))
					gone := shelf{}
					for key, obj := range store {
						gone[key] = obj
					}
					for _, item := range d.Bulk.Items {
						delete(gone, item.Key)
						if !item.Keep {
							store[item.Key] = item.Obj
						}
					}
					for key := range gone {
						fmt.Printf("    %s is gone\n", key)
						delete(store, key)
					}
				case deltafifo.Bookmark:
					fmt.Printf("    %v: nothing happened till resourceVersion %s\n", d.Type, d.Bulk.ResourceVersion)
				case deltafifo.Deleted:
					fmt.Printf("    %s was deleted\n", d.Key)
					delete(store, d.Key)
				case deltafifo.Added, deltafifo.Updated:
					fmt.Printf("    %v %s %s\n", d.Type, d.Key, d.Obj.ports)
					store[d.Key] = d.Obj
				}
			}
			return nil
		})
	}

	queue.Replace([]service{{"web", "80"}, {"mail", "25"}}, nil, "10")
	queue.Add(service{"chat", "5222"})
	queue.Update(service{"web", "80,443"})
	queue.Update(service{"web", "443"})
	queue.Delete(service{"chat", "5222"})
	queue.Bookmark("15")
	queue.Replace([]service{{"web", "443"}}, nil, "20")
	for queue.Len() > 0 {
		pop()
	}

	// Output:
	// a batch of 1 (initial list: true)
	//     ReplacedAll at resourceVersion 10: 2 items
	// a batch of 2 (initial list: false)
	//     Added chat 5222
	//     Updated web 80,443
	// a batch of 2 (initial list: false)
	//     Updated web 443
	//     chat was deleted
	// a batch of 1 (initial list: false)
	//     Bookmark: nothing happened till resourceVersion 15
	// a batch of 1 (initial list: false)
	//     ReplacedAll at resourceVersion 20: 1 items
	//     mail is gone
}

// Many events that came together go into the in-order queue together. Each has an answer of its own.
func ExampleInOrder_PutAll() {
	queue := deltafifo.NewInOrder(deltafifo.Options[string, service]{
		KeyFunc: func(s service) (string, error) {
			if s.name == "" {
				return "", errors.New("no name")
			}
			return s.name, nil
		},
	})
	errs := queue.PutAll([]deltafifo.Delta[string, service]{
		{Type: deltafifo.Added, Obj: service{"web", "80"}},
		{Type: deltafifo.Added, Obj: service{"", "25"}},
		{Type: deltafifo.Deleted, Obj: service{"chat", "5222"}},
	})
	fmt.Println(errs)
	queue.PopBatch(func(batch []deltafifo.Delta[string, service], _ bool) error {
		for _, d := range batch {
			fmt.Println(d.Type, d.Key, d.Obj.ports)
		}
		return nil
	})

	// Output:
	// [<nil> deltafifo: expected an object with a key, got deltafifo_test.service: no name <nil>]
	// Added web 80
	// Deleted chat 5222
}
