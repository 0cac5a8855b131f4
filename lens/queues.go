package lens

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Queue is what the lens asks a queue. One that also has Contents and NumRequeues, as ours, those of compat/workqueue and
// a controller.Controller have, is asked for these. client-go's have NumRequeues only.
type Queue interface{ Len() int }

// AddQueue shows a controller's queue on the page. The name is that of ObserveController, which also says of which type
// the keys are: without it only the length is visible. WatchQueue does both.
func (l *Lens) AddQueue(controller string, queue Queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.queues[controller]
	state.queue = queue
	if state.look == nil {
		state.look = lookAt[any] // nobody has told yet of which type the keys are
	}
	l.queues[controller] = state
}

// RemoveQueue forgets a controller's queue. Its keys stay known, and their controller with them.
func (l *Lens) RemoveQueue(controller string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.queues[controller]
	state.queue = nil // what is known of its keys' type holds for the next one
	l.queues[controller] = state
}

// Controller is what is known of a controller's queue. A number of -1 is not visible.
type Controller struct {
	Name        string `json:"name"`
	QueueLength int    `json:"queueLength"` // keys that are ready
	Processing  int    `json:"processing"`
	Delayed     int    `json:"delayed"`
	// NextDue are the delayed keys that are due first: at most 200.
	NextDue []Delayed `json:"nextDue,omitempty"`
}

// Delayed is a key that will be ready later.
type Delayed struct {
	Key     string    `json:"key"`
	Due     time.Time `json:"due"`
	Retries int       `json:"retries"` // as Key.Retries
}

// queueState is what the lens has of a controller's queue.
type queueState struct {
	queue Queue                     // or nil
	look  func(Queue) queueContents // knows of which type the keys are
}

// knowKeysOf tells of which type a controller's keys are.
func knowKeysOf[K comparable](l *Lens, controller string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.queues[controller]
	state.look = lookAt[K]
	l.queues[controller] = state
}

// queueContents is a moment of a queue.
type queueContents struct {
	ready, processing int               // -1 is not visible
	delayed           map[any]time.Time // nil is not visible
	retries           func(item any) int
}

func notVisible() queueContents {
	return queueContents{ready: -1, processing: -1, retries: func(any) int { return -1 }}
}

// lookAt asks a queue of keys of type K.
func lookAt[K comparable](queue Queue) queueContents {
	c := notVisible()
	c.ready = queue.Len()
	full, ok := queue.(interface {
		Contents() (queued []K, processing map[K]bool, delayed map[K]time.Time)
	})
	if ok {
		queued, processing, delayed := full.Contents()
		c.ready, c.processing, c.delayed = len(queued), len(processing), make(map[any]time.Time, len(delayed))
		for item, due := range delayed {
			c.delayed[item] = due
		}
	}
	limited, ok := queue.(interface{ NumRequeues(K) int })
	if ok {
		c.retries = func(item any) int {
			key, isKey := item.(K)
			if !isKey {
				return -1
			}
			return limited.NumRequeues(key)
		}
	}
	return c
}

// lookAtQueues asks the queues of all controllers, with no lock held.
func (l *Lens) lookAtQueues() map[string]queueContents {
	l.mu.Lock()
	queues := maps.Clone(l.queues)
	maps.DeleteFunc(queues, func(_ string, state queueState) bool { return state.queue == nil })
	for name := range l.stories {
		queues[name.controller] = l.queues[name.controller]
	}
	l.mu.Unlock()
	all := map[string]queueContents{}
	for name, state := range queues {
		all[name] = notVisible()
		if state.queue != nil {
			all[name] = state.look(state.queue)
		}
	}
	return all
}

// Controllers returns what is known of the controllers' queues, by name. It asks them with no lock held.
func (l *Lens) Controllers() []Controller { return controllersOf(l.lookAtQueues()) }

func controllersOf(queues map[string]queueContents) []Controller {
	all := []Controller{}
	for name, q := range queues {
		c := Controller{Name: name, QueueLength: q.ready, Processing: q.processing, Delayed: -1}
		if q.delayed != nil {
			c.Delayed = len(q.delayed)
			c.NextDue = q.nextDue()
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Controller) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (q queueContents) nextDue() []Delayed {
	items := slices.SortedFunc(maps.Keys(q.delayed), func(a, b any) int { return q.delayed[a].Compare(q.delayed[b]) })
	next := []Delayed{}
	for _, item := range items[:min(len(items), maxListed)] {
		next = append(next, Delayed{nameOf(item), q.delayed[item], q.retries(item)})
	}
	return next
}

// fillIn fills in what the queues know of keys. A queue that does not tell what is delayed leaves what the lens was told.
func fillIn(keys []Key, queues map[string]queueContents) {
	for i := range keys {
		k := &keys[i]
		q, found := queues[k.Controller]
		if !found {
			continue // the key was told of after the queues were asked
		}
		k.Retries = q.retries(k.item)
		if q.delayed != nil {
			k.Due = q.delayed[k.item]
		}
	}
}
