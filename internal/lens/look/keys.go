package look

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"glasswatch/listwatch"
)

// WorkqueueState is what the workqueue holds at a moment. Lists are cut, numbers are not.
type WorkqueueState struct {
	Len        int            `json:"len"` // of those that are ready
	Workers    int            `json:"workers"`
	Ready      []string       `json:"ready"` // in the order in which they will be taken
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

// Loop is what works on the keys: a controller.
type Loop interface {
	Len() int
	Contents() (queued []listwatch.Key, processing map[listwatch.Key]bool, delayed map[listwatch.Key]time.Time)
	NumRequeues(key listwatch.Key) int
}

// workqueue asks the loop. Retries are those of the keys that are listed.
func (v *View) workqueue() WorkqueueState {
	queued, processing, delayed := v.Loop.Contents()
	s := WorkqueueState{
		Len: len(queued), Workers: v.Workers, Ready: []string{}, Processing: []string{}, Dirty: []string{},
		Delayed: []Delayed{}, DelayedN: len(delayed), Retries: map[string]int{},
	}
	listed := func(key listwatch.Key) (name string) {
		name = NameOf(key)
		if n := v.Loop.NumRequeues(key); n > 0 {
			s.Retries[name] = n
		}
		return name
	}
	for _, key := range queued[:min(len(queued), listMost)] {
		s.Ready = append(s.Ready, listed(key))
	}
	for key, isDirty := range processing {
		s.Processing = append(s.Processing, listed(key))
		if isDirty {
			s.Dirty = append(s.Dirty, NameOf(key))
		}
	}
	slices.Sort(s.Processing)
	slices.Sort(s.Dirty)
	next := slices.SortedFunc(maps.Keys(delayed), func(a, b listwatch.Key) int {
		return cmp.Or(delayed[a].Compare(delayed[b]), cmp.Compare(NameOf(a), NameOf(b)))
	})
	for _, key := range next[:min(len(next), listMost)] {
		s.Delayed = append(s.Delayed, Delayed{listed(key), delayed[key].Sub(v.began).Microseconds()})
	}
	return s
}
