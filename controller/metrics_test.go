package controller

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// results are metrics that count.
type results struct {
	mu       sync.Mutex // guards all below
	ended    map[string]int
	panicked int
	took     time.Duration
	running  int
	workers  int
	added    int
	tracked  func() int
}

func (r *results) do(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *results) Configured(workers int, tracked func() int) {
	r.ended, r.workers, r.tracked = map[string]int{}, workers, tracked
}

func (r *results) Began() { r.do(func() { r.running++ }) }

func (r *results) Ended(result string, took time.Duration, err error) {
	r.do(func() {
		r.running--
		r.ended[result]++
		r.took += took
		if _, ok := errors.AsType[*PanicError](err); ok {
			r.panicked++
		}
	})
}

func (r *results) Added()                                  { r.do(func() { r.added++ }) }
func (r *results) Taken(time.Duration)                     {}
func (r *results) Finished(time.Duration)                  {}
func (r *results) Retried()                                {}
func (r *results) Unfinished(total, longest time.Duration) {}

// ExpectResults says how often reconciles ended in the given way.
func (s *story) ExpectResults(o string, n int) {
	s.Helper()
	s.results.do(func() { assert.Equal(s, n, s.results.ended[o], o) })
}

// ExpectPanics says how many reconciles panicked.
func (s *story) ExpectPanics(n int) {
	s.Helper()
	s.results.do(func() { assert.Equal(s, n, s.results.panicked) })
}

func TestMetrics_AreToldOfTheControllerAndItsQueue(t *testing.T) {
	tell(t, Options[string]{BaseDelay: time.Minute, Workers: 2}, func(s *story) {
		s.Play(slowly(2 * time.Second))
		s.Start()
		s.Enqueue("a")
		s.Enqueue("b")
		s.At(time.Second)
		s.results.do(func() {
			assert.Equal(t, 2, s.results.workers)
			assert.Equal(t, 2, s.results.added)
			assert.Equal(t, 2, s.results.running)
		})
		s.Fail(errBroken)
		s.Enqueue("c")
		s.At(3 * time.Second)
		s.ExpectResults(ResultSuccess, 2)
		s.ExpectResults(ResultFailed, 1)
		s.results.do(func() {
			assert.Zero(t, s.results.running)
			assert.Equal(t, 4*time.Second, s.results.took)
			assert.Equal(t, 1, s.results.tracked(), "the key that failed")
		})
	})
}
