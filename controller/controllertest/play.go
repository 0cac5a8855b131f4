package controllertest

import (
	"context"
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// played is what came of a play.
type played struct {
	states   state // at each Settle and at the end; a path begins with when that was
	writes   []written
	watched  map[string]bool
	problems []problem
	fired    int
	late     int // writes after the end
	story    func(concerned map[string]bool) string
}

// lookout is how long a play goes on after everything has settled.
const lookout = 20 * time.Minute

// play plays the scenario with some faults, in virtual time.
func (s *Scenario) play(t *testing.T, plan []planned, limit int) (p played) {
	defer func() {
		if panicked := recover(); panicked != nil { // synctest's word for goroutines that stay
			if _, off := s.Without[Stops]; !off {
				p.problems = append(p.problems, problem{Stops, fmt.Sprintf("%v:%s", panicked, remaining())})
			}
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		w := newWorld(ctx, s, slices.Clone(plan), limit)
		p.story = w.story
		defer func() {
			p.writes, p.watched, p.problems, p.fired = w.writes, w.watched, w.problems, w.fired
		}()
		w.handlers.Go(func() { w.server.Run(ctx) })
		cfg, shut := w.open(w.fromOthers)
		defer func() {
			cancel()
			shut()
			w.programs.Wait()
			w.handlers.Wait()
		}()
		c, err := newCluster(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range s.CRDs {
			if err := c.define(ctx, path); err != nil {
				t.Fatalf("CRDs: %v", err)
			}
		}
		for _, run := range s.World {
			w.handlers.Go(func() {
				if err := run(ctx, cfg); err != nil && ctx.Err() == nil {
					w.found(Settles, "somebody of the World has ended: %v", err)
				}
			})
		}
		p.states = state{}
		keep := func(when string) {
			for path, value := range stateOf(w.view().objects, s.Ignore) {
				p.states[when+": "+path] = value
			}
		}
		w.supervise()
		w.settle(s.Quiet)
		last := "start"
		for n, step := range s.Steps {
			if step.settle {
				w.settle(s.Quiet)
				keep("settled after " + last)
				continue
			}
			last = fmt.Sprintf("step %d", n+1)
			w.note("", "--- %s: %s", last, step.name)
			if err := step.do(ctx, c); err != nil {
				w.found(Settles, "step %d, %s: %v", n+1, step.name, err)
				return
			}
		}
		w.settle(20 * time.Minute) // longer than the backoff of most queues
		keep("at the end")
		before := w.changes()
		time.Sleep(lookout)
		synctest.Wait()
		p.late = w.changes() - before
		if !w.stop() {
			w.found(Stops, "Start does not return within five minutes after its context has ended")
		}
	})
	return p
}

// remaining are the goroutines that are still in a bubble: where they wait, and who made them.
func remaining() string {
	buf := make([]byte, 1<<20)
	buf = buf[:goruntime.Stack(buf, true)]
	count := map[string]int{}
	for _, stack := range strings.Split(string(buf), "\n\n") {
		head, rest, _ := strings.Cut(stack, "\n")
		if !strings.Contains(head, "synctest bubble") {
			continue
		}
		waits, _, _ := strings.Cut(rest, "(")
		_, maker, _ := strings.Cut(stack, "created by ")
		maker, _, _ = strings.Cut(maker, "\n")
		count[fmt.Sprintf("waits in %s, made by %s", waits, maker)]++
	}
	var out strings.Builder
	for _, where := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&out, "\n    %d goroutines: %s", count[where], where)
	}
	return out.String()
}
