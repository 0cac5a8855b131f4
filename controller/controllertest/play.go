package controllertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
)

// played is what came of a play.
type played struct {
	moments  []moment // at each Settle and at the end, as far as the play came
	writes   []written
	watched  map[string]bool
	leases   bool // the program asked for Leases
	problems []problem
	gaveUp   []string // refused writes that the program did not try after the last step
	dropped  int      // problems that were not kept
	stopped  bool     // the program has written too much
	fired    int
	late     int // writes after the end
	kinds    meta.RESTMapper
	story    func(concerned map[string]bool) string
	log      []entry
	made     map[string]string // names that the server made, and what stands for them
}

// moment is the state at one time of a play.
type moment struct {
	when    string
	state   state
	matched map[string]bool // what of Scenario.Ignore was there
}

// differences compares the moments that other has come to. Paths begin with when that was.
func (p played) differences(other played) (all []difference) {
	for n := range other.moments {
		all = append(all, p.differencesAt(n, other)...)
	}
	return all
}

func (p played) differencesAt(n int, other played) []difference {
	m := other.moments[n]
	all := p.moments[n].state.differences(m.state)
	for i := range all {
		all[i].path = m.when + ": " + all[i].path
	}
	return all
}

// lookout is how long a play goes on after everything has settled. A queue that tries again at its longest back-off, 1000 seconds, does
// so twice meanwhile.
const lookout = 40 * time.Minute

// play plays the scenario with some faults, in virtual time.
func (s *Scenario) play(t *testing.T, plan []planned, limit int) played {
	return s.playAt(t, plan, limit, nil)
}

// playAt plays it with the steps at other times.
func (s *Scenario) playAt(t *testing.T, plan []planned, limit int, at timings) played {
	var p played
	var w *world
	stuck := inBubble(t, func(t *testing.T) {
		w = newWorld(s, slices.Clone(plan), limit)
		w.timings = at
		defer w.close()
		w.play(t, &p)
	})
	if stuck != nil {
		w.found(Stops, "%v:%s", stuck, remaining(w.bubble))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p.writes, p.watched, p.leases, p.problems, p.fired = w.writes, w.watched, w.leases, w.problems, w.fired
	p.dropped, p.stopped = w.dropped, w.stopped
	p.story, p.log, p.made = w.story, w.log, w.generated.stands
	return p
}

// inBubble returns synctest's word for goroutines that stay, or nil.
func inBubble(t *testing.T, do func(t *testing.T)) (stuck any) {
	defer func() { stuck = recover() }()
	synctest.Test(t, do)
	return nil
}

func (w *world) play(t *testing.T, p *played) {
	w.handlers.Go(func() { w.server.Run(w.ctx) })
	cfg, _ := w.open(w.fromOthers)
	c, err := newCluster(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.mapper, c.first = w.scenario.kinds, map[string]bool{}
	for _, obj := range w.view().objects {
		c.first[string(obj.GetUID())] = true
	}
	for _, definition := range w.scenario.definitions {
		if err := c.define(w.ctx, definition); err != nil {
			t.Fatalf("CRDs: %s: %v", definition.GetName(), err)
		}
	}
	w.runWorld(cfg)
	w.supervise()
	w.settle(w.scenario.Quiet)
	if w.takeSteps(c, p) {
		w.settleAtLast()
		p.keep(w, "at the end")
		p.late = w.lookOut()
	}
	p.gaveUp = w.judgeRefused()
	w.stop()
	p.kinds = c.mapper
}

// lookOut returns how many writes the program tries after the end. One that ends again and again is a finding: a single time may be due to
// a fault at the write of a timer.
func (w *world) lookOut() int {
	if !w.scenario.asks(StaysQuiet) {
		return 0
	}
	tried, exits := w.counted()
	time.Sleep(lookout)
	synctest.Wait()
	triedNow, exitsNow := w.counted()
	if exitsNow-exits > 1 {
		w.found(Runs, "Start returned %d times in %v after the end", exitsNow-exits, lookout)
	}
	return triedNow - tried
}

func (w *world) runWorld(cfg *rest.Config) {
	for _, run := range w.scenario.World {
		w.handlers.Go(func() {
			err := <-protected(func() error { return run(w.ctx, cfg) })
			if err != nil && w.ctx.Err() == nil {
				w.found(Runs, "somebody of the World has ended: %v", err)
			}
		})
	}
}

// takeSteps reports whether all of them succeeded.
func (w *world) takeSteps(c *cluster, p *played) bool {
	last := "start"
	leaves, comes := w.timings.awayFrom(gaps(w.scenario.Steps))
	for n, step := range w.scenario.Steps {
		if step.settle {
			w.settle(w.scenario.Quiet)
			p.keep(w, "settled after "+last)
			continue
		}
		if w.timings[n] == afterSettling {
			w.settle(w.scenario.Quiet)
		}
		if leaves[n] {
			w.sendAway()
		}
		last = fmt.Sprintf("step %d", n+1)
		w.note("", "--- %s: %s", last, step.name)
		if step.acts() {
			w.acted = time.Now()
		}
		if err := w.take(step, c); err != nil {
			w.found(Runs, "%s, %s: %v", last, step.name, err)
			return false
		}
		if comes[n] {
			w.letBack()
		}
	}
	return true
}

// take takes a step. One that waits in vain has an hour.
func (w *world) take(step Step, c *cluster) error {
	ctx, cancel := context.WithTimeout(w.ctx, step.lasts+time.Hour)
	defer cancel()
	result := protected(func() error { return step.do(ctx, c) })
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("not done within %v", step.lasts+time.Hour)
	}
}

func (p *played) keep(w *world, when string) {
	w.noteFailing()
	objects := w.view().objects
	c := newComparer(objects, w.made(), w.scenario.Ignore)
	for _, obj := range objects {
		if obj.GetDeletionTimestamp() != nil && !c.isIgnored(place{obj: obj}) {
			w.foundAt(objectOf(c.identity(obj)), CleansUp, "%s: %s is still being deleted, with the finalizers %q", when, c.identity(obj), obj.GetFinalizers())
		}
	}
	p.moments = append(p.moments, moment{when, c.state(), c.matched})
}

// errNoReturn is the result of a function that panics, or calls runtime.Goexit.
var errNoReturn = errors.New("does not return")

// protected calls a function of the scenario's in a goroutine of its own, and sends what it returned, or errNoReturn.
func protected(do func() error) <-chan error {
	result := make(chan error, 1)
	go func() {
		err := fmt.Errorf("%w: it calls runtime.Goexit, as require and t.FailNow do: return an error instead", errNoReturn)
		defer func() {
			if panicked := recover(); panicked != nil {
				err = fmt.Errorf("%w: panic: %v\n%s", errNoReturn, panicked, debug.Stack())
			}
			result <- err
		}()
		err = do()
	}()
	return result
}

var bubbleNumber = regexp.MustCompile(`synctest bubble \d+\b`)

// thisBubble names the bubble that this goroutine is in.
func thisBubble() string {
	buf := make([]byte, 1000)
	return bubbleNumber.FindString(string(buf[:goruntime.Stack(buf, false)]))
}

// stacks are those of all goroutines.
func stacks() []string {
	for size := 1 << 20; ; size *= 2 {
		buf := make([]byte, size)
		n := goruntime.Stack(buf, true)
		if n < size {
			return strings.Split(string(buf[:n]), "\n\n")
		}
	}
}

// remaining are the goroutines that are still in a bubble: where they wait, and who made them.
func remaining(bubble string) string {
	count := map[string]int{}
	for _, stack := range stacks() {
		head, rest, _ := strings.Cut(stack, "\n")
		_, maker, _ := strings.Cut(stack, "created by ")
		maker, _, _ = strings.Cut(maker, " in goroutine")
		if bubbleNumber.FindString(head) != bubble || strings.HasSuffix(maker, "controllertest.ends") {
			continue
		}
		waits, _, _ := strings.Cut(rest, "(")
		count[fmt.Sprintf("waits in %s, made by %s", waits, maker)]++
	}
	var out strings.Builder
	for _, where := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&out, "\n    %d goroutines: %s", count[where], where)
	}
	return out.String()
}
