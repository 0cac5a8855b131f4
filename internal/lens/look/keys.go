package look

import (
	"cmp"
	"slices"
	"time"
)

// WorkqueueState is that of the workqueue. Len is the queue's own number, the rest follows from observations.
type WorkqueueState struct {
	Len        int            `json:"len"`
	Workers    int            `json:"workers"`
	Ready      []string       `json:"ready"`
	Processing []string       `json:"processing"`
	Dirty      []string       `json:"dirty"`
	Delayed    []Delayed      `json:"delayed"` // those that are due first
	DelayedN   int            `json:"delayed_n"`
	Retries    map[string]int `json:"retries"`
}

// Delayed is a key that waits for its time.
type Delayed struct {
	Key string `json:"key"`
	Due int64  `json:"due_us"`
}

type keySet = map[string]bool

// keyStates follows which keys the workqueue has. A controller does not show its queue, so this follows from its
// observations and from the queue's rules: a key that is added while it is processed is dirty, and is ready when that
// ends. A key counts as done when it is forgotten or put off, a moment before the controller says Done.
type keyStates struct {
	ready, processing, dirty keySet
	delayed                  map[string]time.Duration // when it is over, since the world began
	retries                  map[string]int           // failures since the key was forgotten
}

func newKeyStates() keyStates {
	return keyStates{keySet{}, keySet{}, keySet{}, map[string]time.Duration{}, map[string]int{}}
}

func (k *keyStates) note(e *Event, now time.Duration) {
	switch e.At {
	case Taken:
		if due, found := k.delayed[e.Key]; found && due <= now {
			delete(k.delayed, e.Key)
		}
		delete(k.ready, e.Key)
		k.processing[e.Key] = true
	case Reconciled:
		if e.Error != "" {
			k.retries[e.Key]++
		}
	case Forgotten, PutOff:
		if e.At == Forgotten {
			delete(k.retries, e.Key)
		}
		delete(k.processing, e.Key)
		if k.dirty[e.Key] {
			delete(k.dirty, e.Key)
			k.ready[e.Key] = true
		}
	}
	if e.At != Queued && e.At != PutOff {
		return
	}
	if e.Delay <= 0 {
		k.add(e.Key)
		return
	}
	due := now + time.Duration(e.Delay)*time.Microsecond
	if was, found := k.delayed[e.Key]; !found || due < was {
		k.delayed[e.Key] = due
	}
}

func (k *keyStates) add(key string) {
	if k.processing[key] {
		k.dirty[key] = true
	} else {
		k.ready[key] = true
	}
}

// expire adds the keys whose delay is over.
func (k *keyStates) expire(now time.Duration) {
	for key, due := range k.delayed {
		if due <= now {
			delete(k.delayed, key)
			k.add(key)
		}
	}
}

func (h *Hub) workqueue() WorkqueueState {
	h.mu.Lock()
	k := &h.keys
	k.expire(time.Since(h.began))
	s := WorkqueueState{
		Ready: firstKeys(k.ready), Processing: firstKeys(k.processing), Dirty: firstKeys(k.dirty),
		Delayed: []Delayed{}, DelayedN: len(k.delayed), Retries: map[string]int{},
	}
	for key, due := range k.delayed {
		s.Delayed = append(s.Delayed, Delayed{key, due.Microseconds()})
	}
	for _, key := range firstKeys(k.retries) {
		s.Retries[key] = k.retries[key]
	}
	h.mu.Unlock() // who reports does not wait for what follows
	slices.SortFunc(s.Delayed, func(a, b Delayed) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Key, b.Key))
	})
	s.Delayed = s.Delayed[:min(len(s.Delayed), listMost)]
	return s
}

// firstKeys sorts some of very many keys, or all of few.
func firstKeys[V any](m map[string]V) []string {
	keys := []string{}
	for key := range m {
		if keys = append(keys, key); len(keys) == storeMost {
			break
		}
	}
	slices.Sort(keys)
	return keys[:min(len(keys), listMost)]
}
