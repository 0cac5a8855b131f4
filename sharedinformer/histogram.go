package sharedinformer

import (
	"sync/atomic"
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
	counts [len(latencyBounds) + 1]atomic.Uint64
	sum    atomic.Int64
}

func (l *latency) observe(took time.Duration) {
	at := 0
	for at < len(latencyBounds) && took > latencyBounds[at] {
		at++
	}
	l.counts[at].Add(1)
	l.sum.Add(int64(took))
}

func (l *latency) read() Histogram {
	h := Histogram{Sum: time.Duration(l.sum.Load()), Buckets: map[float64]uint64{}}
	for at := range l.counts {
		h.Count += l.counts[at].Load()
		if at < len(latencyBounds) {
			h.Buckets[latencyBounds[at].Seconds()] = h.Count
		}
	}
	return h
}
