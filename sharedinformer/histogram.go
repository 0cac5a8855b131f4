package sharedinformer

import (
	"sync"
	"time"
)

// latencyBounds are the upper bounds of a Histogram's buckets, in seconds.
var latencyBounds = [...]float64{1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10}

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
	count  uint64
	sum    time.Duration
	atMost [len(latencyBounds)]uint64
}

func (l *latency) observe(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	l.sum += took
	for at, bound := range latencyBounds {
		if took.Seconds() <= bound {
			l.atMost[at]++
		}
	}
}

func (l *latency) read() Histogram {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := Histogram{l.count, l.sum, map[float64]uint64{}}
	for at, bound := range latencyBounds {
		h.Buckets[bound] = l.atMost[at]
	}
	return h
}
