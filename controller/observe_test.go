package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"glasswatch/observe"
)

// observer writes down what it is told; it needs no lock in stories of one worker and one enqueuer that take turns.
type observer struct{ seen []string }

func (o *observer) Observe(seen []observe.Observation[string]) {
	x := seen[0]
	line := string(x.Step) + " " + x.Key
	if x.Delay != 0 {
		line += fmt.Sprintf(" for %v", x.Delay)
	}
	if x.Err != nil {
		line += fmt.Sprintf(": %v", x.Err)
	}
	o.seen = append(o.seen, line)
}

func TestObserve_SeesEachStepOfAKeyInOrder(t *testing.T) {
	broken := func(context.Context, string) (Result, error) { return Result{}, errBroken }
	for name, c := range map[string]struct {
		opts    Options[string]
		enqueue func(s *story)
		script  func(context.Context, string) (Result, error)
		want    []string
	}{
		"success": {want: []string{"queued a", "taken a", "reconciled a", "forgotten a"}},
		"later": {
			enqueue: func(s *story) { s.EnqueueAfter("a", time.Millisecond) },
			want:    []string{"queued a for 1ms", "taken a", "reconciled a", "forgotten a"},
		},
		"to be retried": {
			script: broken,
			want:   []string{"queued a", "taken a", "reconciled a: broken", "putoff a for 1m0s"},
		},
		"requeued": {
			script: func(context.Context, string) (Result, error) { return Result{RequeueAfter: time.Hour}, nil },
			want:   []string{"queued a", "taken a", "reconciled a", "forgotten a", "putoff a for 1h0m0s"},
		},
		"terminal": {
			script: func(context.Context, string) (Result, error) { return Result{}, Terminal(errBroken) },
			want:   []string{"queued a", "taken a", "reconciled a: broken", "forgotten a"},
		},
		"dropped": {
			opts:   Options[string]{MaxRetries: 1, BaseDelay: time.Millisecond},
			script: broken,
			want: []string{"queued a", "taken a", "reconciled a: broken", "putoff a for 1ms",
				"taken a", "reconciled a: broken", "forgotten a"},
		},
		"panic": {
			script: func(context.Context, string) (Result, error) { panic("oops") },
			want:   []string{"queued a", "taken a", "reconciled a: reconcile panicked: oops", "putoff a for 1m0s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var o observer
			c.opts.Observe = o.Observe
			if c.opts.BaseDelay == 0 {
				c.opts.BaseDelay = time.Minute
			}
			tell(t, c.opts, func(s *story) {
				s.Play(c.script)
				s.Start()
				if c.enqueue == nil {
					c.enqueue = func(s *story) { s.Enqueue("a") }
				}
				c.enqueue(s)
				s.At(time.Second)
				assert.Equal(t, c.want, o.seen)
			})
		})
	}
}

func TestObserve_HearsOfNoKeyThatTheQueueRefuses(t *testing.T) {
	var o observer
	tell(t, Options[string]{BaseDelay: time.Minute, Observe: o.Observe}, func(s *story) {
		s.Play(func(context.Context, string) (Result, error) {
			<-time.After(time.Second)
			return Result{RequeueAfter: time.Second}, nil
		})
		s.Start()
		s.Enqueue("a")
		s.Stop()
		s.Enqueue("b")
		s.At(time.Minute)
		assert.Equal(t, []string{"queued a", "taken a", "reconciled a", "forgotten a"}, o.seen)
	})
}

// A blocked observer is a way to step through the controller: it holds the goroutine that reports, and no lock.
func TestObserve_WhileItBlocksOtherKeysGoOn(t *testing.T) {
	var gate chan struct{} // made within the story: only such a channel lets virtual time pass
	opts := Options[string]{Workers: 2, Observe: func(seen []observe.Observation[string]) {
		if seen[0].Key == "held" && seen[0].Step == observe.Taken {
			<-gate
		}
	}}
	tell(t, opts, func(s *story) {
		gate = make(chan struct{})
		s.Start()
		s.Enqueue("held")
		s.Enqueue("free")
		s.ExpectCalls("0s free")
		s.Enqueue("held")
		assert.Equal(t, 0, s.Len())
		s.At(time.Second)
		close(gate)
		s.ExpectCalls("1s held", "1s held")
	})
}
