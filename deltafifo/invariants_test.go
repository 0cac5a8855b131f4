package deltafifo

import (
	"errors"
	"fmt"
	"reflect"
)

// checkInvariants returns what the comments promise and the queue does not keep.
func (f *DeltaFIFO[K, T]) checkInvariants() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	queued := 0
	var last *entry[K, T]
	for p := f.oldest; p != nil; p = p.next {
		queued++
		last = p
		if f.items[p.key] != p {
			errs = append(errs, fmt.Errorf("%v is queued, the map has another entry", p.key))
		}
		errs = append(errs, p.check())
	}
	for _, p := range f.free {
		var none K
		if p.key != none || p.next != nil || len(p.deltas) != 0 || cap(p.deltas) > maxKeptDeltas || !zeroed(p.deltas) {
			errs = append(errs, fmt.Errorf("a free entry keeps something: %+v", *p))
		}
	}
	if f.oldest != nil && f.newest != last {
		errs = append(errs, errors.New("newest is not the end of the queue"))
	}
	if queued != len(f.items) || queued > f.peak {
		errs = append(errs, fmt.Errorf("%d keys queued, %d in the map, peak %d", queued, len(f.items), f.peak))
	}
	return errors.Join(append(errs, f.initial.check())...)
}

func (p *entry[K, T]) check() error {
	if len(p.deltas) == 0 {
		return fmt.Errorf("%v is queued without a delta", p.key)
	}
	var errs []error
	for i, d := range p.deltas {
		if d.Key != p.key {
			errs = append(errs, fmt.Errorf("%v has a delta of %v", p.key, d.Key))
		}
		if i > 0 && d.Type == Deleted && p.deltas[i-1].Type == Deleted {
			errs = append(errs, fmt.Errorf("%v has two deletions in a row", p.key))
		}
	}
	return errors.Join(errs...)
}

func (s *initialSync) check() error {
	if done := s.begun && s.remaining == 0; s.isDone() != done || s.remaining < 0 || (!s.begun && s.remaining != 0) {
		return fmt.Errorf("syncBegun %v, remaining %d, done %v", s.begun, s.remaining, s.isDone())
	}
	return nil
}

// checkInvariants is called by the consumer, between pops.
func (q *InOrder[K, T]) checkInvariants() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	errs := []error{q.initial.check()}
	if !zeroed(q.tail) || !zeroed(q.taken) {
		errs = append(errs, errors.New("memory for later deltas keeps earlier ones"))
	}
	if len(q.seen) != 0 {
		errs = append(errs, fmt.Errorf("%d keys are kept from an earlier batch", len(q.seen)))
	}
	if !q.popping {
		used := len(q.taken) - len(q.head)
		for i := range q.taken[:used] {
			if !isZero(q.taken[i]) {
				errs = append(errs, fmt.Errorf("processed delta %d is kept", i))
			}
		}
		if len(q.head) > 0 && &q.head[0] != &q.taken[used] {
			errs = append(errs, errors.New("head is not the end of taken"))
		}
		if q.backpressure || q.batch != nil {
			errs = append(errs, errors.New("producers wait or deltas are taken, but nothing is processed"))
		}
	}
	return errors.Join(errs...)
}

// zeroed tells whether the slice is zero between its length and its capacity.
func zeroed[E any](s []E) bool {
	for _, e := range s[len(s):cap(s)] {
		if !isZero(e) {
			return false
		}
	}
	return true
}

func isZero[E any](v E) bool { return reflect.ValueOf(&v).Elem().IsZero() }
