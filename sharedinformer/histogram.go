package sharedinformer

import (
	"sync"
	"time"
)

// latencyBounds are the upper bounds of a Histogram's buckets but the last, which has none.
var latencyBounds = [...]time.Duration{
	10 * time.Microsecond, 100 * time.Microsecond,
	time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond,
	time.Second, 10 * time.Second,
}

// Histogram is a moment of how long something took each time.
type Histogram struct {
	Count uint64
	Sum   time.Duration
	// Buckets says how many took at most so long, by seconds.
	Buckets map[float64]uint64
}

// latency counts durations. The zero value is empty; it is safe for concurrent use.
type latency struct {
	mu     sync.Mutex // protects what follows
	counts [len(latencyBounds) + 1]uint64
	sum    time.Duration
}

func (l *latency) observe(took time.Duration) {
	at := 0
	for at < len(latencyBounds) && took > latencyBounds[at] {
		at++
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[at]++
	l.sum += took
}

func (l *latency) read() Histogram {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := Histogram{Sum: l.sum, Buckets: map[float64]uint64{}}
	for at, count := range l.counts {
		h.Count += count
		if at < len(latencyBounds) {
			h.Buckets[latencyBounds[at].Seconds()] = h.Count
		}
	}
	return h
}
