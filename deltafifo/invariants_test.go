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
	if f.queue.len() != f.items.len {
		errs = append(errs, fmt.Errorf("%d keys queued, %d in the table", f.queue.len(), f.items.len))
	}
	for i := range f.queue.len() {
		p := f.queue.at(i)
		if f.items.find(p.key, f.items.hash(p.key)) != p {
			errs = append(errs, fmt.Errorf("%v is queued, the table has another entry", p.key))
		}
		errs = append(errs, p.check())
	}
	return errors.Join(append(errs, f.items.check(), f.queue.check(), f.synced.check())...)
}

func (p *pending[K, T]) check() error {
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

func (t *table[K, T]) check() error {
	var errs []error
	used := 0
	for i, p := range t.buckets {
		for ; p != nil; p = p.chain {
			used++
			if p.hash != t.hash(p.key) || p.hash&uint64(len(t.buckets)-1) != uint64(i) {
				errs = append(errs, fmt.Errorf("%v is in the wrong bucket", p.key))
			}
		}
	}
	free := 0
	for p := t.free; p != nil; p = p.chain {
		free++
		var none K
		if p.key != none || len(p.deltas) != 0 || cap(p.deltas) > maxKeptDeltas || !zeroed(p.deltas) || !isZero(p.first) {
			errs = append(errs, fmt.Errorf("a free entry keeps something: %+v", *p))
		}
	}
	if n := len(t.buckets); n&(n-1) != 0 || used != t.len || used+free != t.made || used > n {
		errs = append(errs, fmt.Errorf("%d slots, %d entries and %d free, counted as %d of %d", n, used, free, t.len, t.made))
	}
	return errors.Join(errs...)
}

func (r *ring[E]) check() error {
	if n := len(r.buf); n&(n-1) != 0 || r.n > n || r.peak < r.n {
		return fmt.Errorf("ring of %d slots holds %d, at most %d", n, r.n, r.peak)
	}
	for i := r.n; i < len(r.buf); i++ {
		if !isZero(r.at(i)) {
			return errors.New("a free slot of the ring keeps an entry")
		}
	}
	return nil
}

func (s *initialSync) check() error {
	closed := false
	select {
	case <-s.done:
		closed = true
	default:
	}
	if want := s.populated && s.remaining == 0; closed != want || s.isDone.Load() != want || s.remaining < 0 || (!s.populated && s.remaining != 0) {
		return fmt.Errorf("populated %v, remaining %d, done %v, closed %v", s.populated, s.remaining, s.isDone.Load(), closed)
	}
	return nil
}

// checkInvariants is called by the consumer, between pops.
func (q *InOrder[K, T]) checkInvariants() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	errs := []error{q.synced.check()}
	if q.next < 0 || q.next > len(q.head) {
		errs = append(errs, fmt.Errorf("next is %d of %d", q.next, len(q.head)))
	}
	if !zeroed(q.tail) || !zeroed(q.head) {
		errs = append(errs, errors.New("memory for later deltas keeps earlier ones"))
	}
	if !q.popping {
		for i := range q.head[:q.next] {
			if !isZero(q.head[i]) {
				errs = append(errs, fmt.Errorf("processed delta %d is kept", i))
			}
		}
		if q.held {
			errs = append(errs, errors.New("producers are held, nothing is processed"))
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
