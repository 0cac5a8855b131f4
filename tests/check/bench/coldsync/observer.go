package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// sentAtLength is the length of sentAt's value, zeros in front.
const sentAtLength = 19

func formatSentAt(at time.Time) string { return fmt.Sprintf("%0*d", sentAtLength, at.UnixNano()) }

// observer counts the calls of a subject's handlers, and their delays.
type observer struct {
	handlers [handlers]handler
}

func (o *observer) handler(i int) *handler { return &o.handlers[i] }

// handler is one of them.
type handler struct {
	initial atomic.Int64
	updates atomic.Int64

	mu    sync.Mutex // protects late, of those that observe
	late  []time.Duration
	first time.Time
	last  time.Time
}

func (h *handler) added(*corev1.Pod) { h.count() }

func (h *handler) count() { h.initial.Add(1) }

func (h *handler) updated(pod *corev1.Pod) { h.sent(pod.Annotations[sentAt]) }

// sent takes in an update that was sent at a time.
func (h *handler) sent(at string) {
	nanoseconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || nanoseconds == 0 {
		return // not an update of the storm
	}
	now := time.Now()
	h.mu.Lock()
	if len(h.late) == 0 {
		h.first = now
	}
	h.last = now
	h.late = append(h.late, now.Sub(time.Unix(0, nanoseconds)))
	h.mu.Unlock()
	h.updates.Add(1)
}

// wait returns once n updates have arrived.
func (h *handler) wait(ctx context.Context, n int) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for h.updates.Load() < int64(n) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d updates have arrived: %w", h.updates.Load(), n, context.Cause(ctx))
		}
	}
	return nil
}

// lateness returns the median, the 99th percentile, and the updates per second, and begins anew.
func (h *handler) lateness() (p50, p99 time.Duration, rate float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.Sort(h.late)
	if took := h.last.Sub(h.first); took > 0 {
		rate = float64(len(h.late)-1) / took.Seconds()
	}
	p50, p99 = percentile(h.late, 50), percentile(h.late, 99)
	h.late = h.late[:0]
	h.updates.Store(0)
	return p50, p99, rate
}

// percentile is the least value that at least p per cent of the sorted ones do not exceed; 0 of none.
func percentile[T any](sorted []T, p int) (value T) {
	if len(sorted) == 0 {
		return value
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}
