package scale

import (
	"cmp"
	"context"
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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver"
)

// world is a server, the processes that share its work, and the ledger that judges them.
type world struct {
	handler   http.Handler
	leases    coordinationv1client.LeaseInterface // the checks' own, without faults
	ledger    *ledger
	processes []*process // those that run
	all       []*process
	started   int
	rnd       *rand.Rand
	tally     *tally
	touches   int
	long      atomic.Bool // some reconciles take longer than a Lease lasts
	start0    time.Time
	step      string
	instead   bool // the step could not be taken, and another one was
}

const (
	// beat is about how often each cell is worked on.
	beat  = time.Second
	lease = leaseSeconds * time.Second
	// settle is how long the group has, once all faults are over, until every shard has the owner that it should have.
	// It is what a member needs that was cut off at the worst moment: the longest backoff, and a Lease that runs out.
	settle = 3 * lease
)

func newWorld(seed uint64, cells, touches int, t *tally) *world {
	server := apiserver.New(apiserver.Options{})
	w := &world{
		handler: server.Handler(), ledger: newLedger(cells, t), tally: t, touches: touches,
		rnd: rand.New(rand.NewPCG(seed, 2)), start0: time.Now(),
	}
	probe := &link{server: w.handler, tally: &tally{}, rnd: rand.New(rand.NewPCG(0, 0)), cut: make(chan struct{})}
	client, err := coordinationv1client.NewForConfigAndClient(
		&rest.Config{Host: "http://server", QPS: -1}, &http.Client{Transport: probe})
	if err != nil {
		panic(err)
	}
	w.leases = client.Leases("default")
	return w
}

// remove takes a process from those that run. It may still be ending.
func (w *world) remove(p *process) {
	w.processes = slices.DeleteFunc(w.processes, func(q *process) bool { return q == p })
	w.all = append(w.all, p)
}

// Close kills all processes and waits until nothing of them is left.
func (w *world) Close() error {
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

// owners returns which term each fence names, and the fence's version, by its name. terms are those of the members'
// Leases, by identity.
func (w *world) owners() (owner, version, terms map[string]string, err error) {
	list, err := w.leases.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, nil, nil, err
	}
	owner, version, terms = map[string]string{}, map[string]string{}, map[string]string{}
	for _, l := range list.Items {
		term := ptr.Deref(l.Spec.HolderIdentity, "")
		if identity, ok := strings.CutPrefix(l.Name, "sim-member-"); ok {
			terms[identity] = term
			continue
		}
		owner[l.Name], version[l.Name] = term, l.ResourceVersion
	}
	return owner, version, terms, nil
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
	for {
		why, err := w.unsettled()
		if err != nil {
			return err
		}
		if why == "" {
			return cmp.Or(w.judge(), w.balanced())
		}
		if time.Since(begun) > settle {
			list, _ := w.leases.List(context.Background(), metav1.ListOptions{})
			for _, l := range list.Items {
				if strings.Contains(l.Name, "member") {
					why += fmt.Sprintf("\n%s %s %v", l.Name, ptr.Deref(l.Spec.HolderIdentity, "-"), l.Annotations)
				}
			}
			for _, p := range w.processes {
				why += fmt.Sprintf("\n%s %v %v", p.name, p.member.Ready(), p.member.Held())
				select {
				case <-p.done:
					why += fmt.Sprintf(" ended %v", p.err)
				default:
				}
			}
			return fmt.Errorf("%s: not settled after %v: %s", w.step, settle, why)
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
			return fmt.Errorf("%s: %s has %d of %d shards, with %d members", w.step, identity, n, len(expected), len(heads))
		}
	}
	return nil
}

func (w *world) unsettled() (why string, err error) {
	owner, _, terms, err := w.owners()
	if err != nil {
		return "", err
	}
	for name, identity := range w.expected() {
		if owner[name] == "" || owner[name] != terms[identity] {
			return fmt.Sprintf("%s names %q, not %q", name, owner[name], identity), nil
		}
	}
	for identity, term := range terms {
		if term != "" && !slices.ContainsFunc(w.processes, func(p *process) bool { return p.identity == identity }) {
			return fmt.Sprintf("%s is gone, and its Lease is not revoked", identity), nil
		}
	}
	if c := w.ledger.Idle(time.Duration(w.touches+4) * beat); c >= 0 {
		return fmt.Sprintf("nobody works on cell %d", c), nil
	}
	for _, p := range w.processes {
		if err := p.member.Ready(); err != nil {
			return fmt.Sprintf("%s is not ready: %v", p.name, err), nil
		}
	}
	return "", nil
}

func (w *world) judge() error {
	if problems := w.ledger.Problems(); len(problems) > 0 {
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
