package scale

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver"
)

// world is a server, the processes that share its work, and the ledger that judges them.
type world struct {
	handler   http.Handler
	leases    coordinationv1client.LeaseInterface // the checks' own, without faults
	ledger    *ledger
	register  *register
	objects   *objects   // nil if the members have no informers
	processes []*process // those that run
	all       []*process
	started   int
	rnd       *rand.Rand
	tally     *tally
	touches   int
	long      atomic.Bool // some reconciles take longer than a Lease lasts
	most      int         // members, at which none joins
	start0    time.Time
	step      string
}

const (
	// beat is about how often each cell is worked on.
	beat  = time.Second
	lease = leaseSeconds * time.Second
	// settle is how long the group has, once all faults are over, until every shard has the owner that it should have.
	// It is what a member needs that was cut off at the worst moment: the longest backoff, and a Lease that runs out.
	settle = 3 * lease
)

func newWorld(seed uint64, cells, most int) *world {
	t := &tally{}
	w := &world{
		handler: apiserver.New(apiserver.Options{}).Handler(), ledger: newLedger(cells, t), tally: t, touches: 1,
		rnd: rand.New(rand.NewPCG(seed, 2)), most: most, start0: time.Now(),
	}
	probe := &link{server: w.handler, tally: &tally{}, rnd: rand.New(rand.NewPCG(0, 0)), cut: make(chan struct{})}
	w.leases = newClient(probe).Leases("default")
	w.register = newRegister(w.leases)
	return w
}

// remove takes a process from those that run. It may still be ending.
func (w *world) remove(p *process) {
	w.processes = slices.DeleteFunc(w.processes, func(q *process) bool { return q == p })
	w.all = append(w.all, p)
}

// Close kills all processes and waits until nothing of them is left.
func (w *world) Close() error {
	defer w.register.Close()
	if w.objects != nil {
		defer w.objects.Close()
	}
	for _, p := range slices.Clone(w.processes) {
		p.kill()
		w.remove(p)
	}
	for _, p := range w.all {
		<-p.done
		if p.err != nil {
			return fmt.Errorf("%s ended: %w", p.name, p.err)
		}
	}
	return nil
}

// expected returns whom each fence is to name once all is quiet, according to a count of heads and Assign alone.
func (w *world) expected() map[string]string {
	heads := map[int][]string{}
	for _, p := range w.processes {
		heads[p.shards] = append(heads[p.shards], p.identity)
	}
	most := 0
	for _, n := range slices.Sorted(maps.Keys(heads)) {
		if len(heads[n]) >= len(heads[most]) {
			most = n
		}
	}
	owners := map[string]string{}
	for s, identity := range shards.Assign(most, heads[most]) {
		owners[fmt.Sprintf("sim-shard-%d-%d", most, s)] = identity
	}
	return owners
}

// Settle waits until every shard has its owner, and each cell is worked on.
func (w *world) Settle() error {
	begun := time.Now()
	if w.objects != nil {
		w.objects.Pause(true)
		defer w.objects.Pause(false)
	}
	for {
		why := w.unsettled()
		if why == "" {
			return cmp.Or(w.judge(), w.balanced())
		}
		if time.Since(begun) > settle {
			for _, p := range w.processes {
				why += fmt.Sprintf("\n%s holds %v, ready: %v", p.name, p.member.Held(), p.member.Ready())
			}
			return cmp.Or(w.judge(), fmt.Errorf("%s: not settled after %v: %s", w.step, settle, why))
		}
		pass(beat)
	}
}

// balanced checks that no process has far more than its share. A dozen shards say nothing.
func (w *world) balanced() error {
	expected, counts, heads := w.expected(), map[string]int{}, map[string]bool{}
	for _, identity := range expected {
		counts[identity]++
	}
	for _, p := range w.processes {
		heads[p.identity] = true
	}
	fair := float64(len(expected)) / float64(len(heads))
	for identity, n := range counts {
		if len(expected) >= 16 && float64(n) > fair+6*math.Sqrt(fair) {
			return fmt.Errorf("%s: %s has %d of %d shards, %d members", w.step, identity, n, len(expected), len(heads))
		}
	}
	return nil
}

func (w *world) unsettled() (why string) {
	terms, fences := w.register.Named()
	for name, identity := range w.expected() {
		if fences[name] == "" || fences[name] != terms[identity] {
			return fmt.Sprintf("%s names %q, not %q", name, fences[name], identity)
		}
	}
	for identity := range terms {
		if !slices.ContainsFunc(w.processes, func(p *process) bool { return p.identity == identity }) {
			return fmt.Sprintf("%s is gone, and its Lease has not ended", identity)
		}
	}
	if c := w.ledger.Idle(time.Duration(w.touches+4) * beat); c >= 0 {
		return fmt.Sprintf("nobody works on cell %d", c)
	}
	for _, p := range w.processes {
		if terms[p.identity] == "" {
			return fmt.Sprintf("%s has no Lease", p.name)
		}
		if err := p.member.Ready(); err != nil {
			return fmt.Sprintf("%s is not ready: %v", p.name, err)
		}
	}
	if w.objects != nil {
		return w.objects.unsettled(w.processes)
	}
	return ""
}

func (w *world) judge() error {
	problems := append(w.ledger.Problems(), w.register.Complaints()...)
	if w.objects != nil {
		problems = append(problems, w.objects.Problems()...)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s: %s", w.step, strings.Join(problems, "\n"))
	}
	for _, p := range w.processes {
		select {
		case <-p.done:
			return fmt.Errorf("%s: %s ended: %w", w.step, p.name, p.err)
		default:
		}
	}
	return nil
}

// startAnother starts a process with the same number of shards as one that runs.
func (w *world) startAnother() *process {
	return w.start(fmt.Sprintf("m%d", w.started), w.one().shards, w.clock())
}

// some returns about a third of the processes, at least one, but not all.
func (w *world) some() []*process {
	n := 1 + w.rnd.IntN(max(len(w.processes)/3, 1))
	w.rnd.Shuffle(len(w.processes), func(i, j int) {
		w.processes[i], w.processes[j] = w.processes[j], w.processes[i]
	})
	return slices.Clone(w.processes[:min(n, len(w.processes)-1)])
}

func (w *world) one() *process { return w.processes[w.rnd.IntN(len(w.processes))] }

// clock draws a clock: a slow one, a right one or a fast one.
func (w *world) clock() int { return leaseSeconds - 1 + w.rnd.IntN(3) }

// pass lets virtual time go by.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// between draws a duration.
func (w *world) between(from, to time.Duration) time.Duration {
	return from + time.Duration(w.rnd.Int64N(int64(to-from)))
}

// now is the virtual time since the beginning.
func (w *world) now() time.Duration { return time.Since(w.start0) }
