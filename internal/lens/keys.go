package lens

import (
	"time"
)

// keyStates follows which keys the workqueue has. A controller does not show its queue, so this follows from its
// observations and from the queue's rules: a key that is added while it is processed is dirty, and is ready when that
// ends. A key counts as done when it is forgotten or put off, a moment before the controller says Done.
type keyStates struct {
	ready, processing, dirty map[string]bool
	delayed                  map[string]time.Time
	retries                  map[string]int // failures since the key was forgotten
}

func newKeyStates() keyStates {
	return keyStates{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]time.Time{}, map[string]int{}}
}

func (k *keyStates) note(e *Event, now time.Time) {
	switch e.At {
	case Queued, PutOff:
		if e.At == PutOff {
			k.done(e.Key)
		}
		if e.Delay <= 0 {
			k.add(e.Key)
			return
		}
		due := now.Add(time.Duration(e.Delay) * time.Microsecond)
		if was, found := k.delayed[e.Key]; !found || due.Before(was) {
			k.delayed[e.Key] = due
		}
	case Taken:
		k.expire(now)
		delete(k.ready, e.Key)
		k.processing[e.Key] = true
	case Reconciled:
		if e.Error != "" {
			k.retries[e.Key]++
		}
	case Forgotten:
		delete(k.retries, e.Key)
		k.done(e.Key)
	}
}

func (k *keyStates) add(key string) {
	if k.processing[key] {
		k.dirty[key] = true
	} else {
		k.ready[key] = true
	}
}

func (k *keyStates) done(key string) {
	delete(k.processing, key)
	if k.dirty[key] {
		delete(k.dirty, key)
		k.ready[key] = true
	}
}

// expire adds the keys whose delay is over.
func (k *keyStates) expire(now time.Time) {
	for key, due := range k.delayed {
		if !now.Before(due) {
			delete(k.delayed, key)
			k.add(key)
		}
	}
}
