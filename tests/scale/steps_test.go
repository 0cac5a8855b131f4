package scale

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/controller/shards"
)

func (w *world) join() error {
	if len(w.processes) >= w.most {
		return w.leaveOne()
	}
	p := w.startAnother()
	w.tally.fire(joined)
	return cmp.Or(w.Settle(), w.register.ExpectFairMoves(p.identity, len(w.processes), p.shards))
}

func (w *world) leaveOne() error {
	if len(w.processes) < 3 {
		return w.join()
	}
	p := w.one()
	w.tally.fire(left)
	w.leave(p)
	<-p.done
	return cmp.Or(p.err, w.Settle(), w.register.ExpectFairMoves(p.identity, len(w.processes)+1, p.shards))
}

// leave tells a process to end, as SIGTERM does.
func (w *world) leave(p *process) {
	w.register.Concern(p.identity)
	p.stop()
	w.remove(p)
}

func (w *world) killSome() error {
	if len(w.processes) < 3 {
		return w.join()
	}
	for _, p := range w.some() {
		w.kill(p)
	}
	return w.Settle()
}

// kill ends a process, as SIGKILL does.
func (w *world) kill(p *process) {
	w.tally.fire(killed)
	p.kill()
	w.remove(p)
}

// restart starts a process of the same name as one that was killed, as a container restarts in its Pod, or as one that
// is only cut off from the Leases, as if the Pod was replaced although its machine still runs.
func (w *world) restart() error {
	p := w.one()
	w.tally.fire(restarted)
	if w.rnd.IntN(2) == 0 {
		p.kill()
	} else {
		defer p.kill()
		p.Set(fault{latency: calm.latency, noRenewals: true, stallWatch: true})
	}
	w.remove(p)
	pass(w.between(0, lease*3/2))
	w.start(p.identity, p.shards, w.clock())
	return w.Settle()
}

// during sets a fault on some links for a time.
func (w *world) during(some []*process, f fault, d time.Duration) error {
	for _, p := range some {
		p.Set(f)
	}
	pass(d)
	return w.calm(some...)
}

// calm ends the faults of these processes, and with them the step's.
func (w *world) calm(some ...*process) error {
	w.long.Store(false)
	for _, p := range some {
		p.Set(calm)
	}
	w.ledger.Over()
	return w.Settle()
}

func (w *world) partition() error {
	return w.during(w.some(), fault{latency: calm.latency, partition: true}, w.between(0, longest))
}

// loseRenewals lets no renewal of some processes through, while all else of them passes, in the middle of long
// reconciles. Before that the answers to renewals are late.
func (w *world) loseRenewals() error {
	some := w.some()
	for _, p := range some {
		p.Set(fault{latency: calm.latency, lateAnswers: true})
	}
	w.long.Store(true)
	pass(w.between(lease/4, lease))
	return w.during(some, fault{latency: calm.latency, noRenewals: true}, w.between(lease, longest))
}

// stall blinds some processes, and kills one of the others, whose shards the blind ones should take. One of the blind
// sees again before the rest. Meanwhile it may have taken others for dead that do not know.
func (w *world) stall() error {
	n := max(len(w.some()), 2)
	blind := slices.Clone(w.processes[:min(n, len(w.processes)-1)])
	if others := w.processes[len(blind):]; len(others) > 1 {
		w.kill(others[0])
	}
	stalled := fault{latency: calm.latency, stallWatch: true}
	for _, p := range blind {
		p.Set(stalled)
	}
	pass(w.between(lease, lease*3/2))
	blind[0].Set(calm)
	return w.during(blind[1:], stalled, w.between(0, 4*lease))
}

// joinBlind blinds some processes, so that they do not see that another joins, which is owed some of their shards. That
// one then goes blind as well, takes them for dead, and sees again while they still work.
func (w *world) joinBlind() error {
	if len(w.processes) >= w.most {
		return w.leaveOne()
	}
	blind, stalled := w.some(), fault{latency: calm.latency, stallWatch: true}
	for _, p := range blind {
		p.Set(stalled)
	}
	p := w.startAnother()
	pass(time.Second)
	p.Set(stalled)
	pass(w.between(lease+time.Second, lease*7/5))
	p.Set(calm)
	return w.during(blind, stalled, w.between(0, lease))
}

func (w *world) slow() error {
	return w.during(w.some(), fault{latency: w.between(time.Second, 3*time.Second)}, w.between(0, longest))
}

func (w *world) lossy() error {
	return w.during(w.processes, fault{
		latency: calm.latency, loseRequest: w.rnd.Float64() / 2, loseAnswer: w.rnd.Float64() / 2,
	}, w.between(0, longest))
}

// hold lets the next updates of some processes wait on their way for longer than a Lease lasts.
func (w *world) hold() error {
	some := w.some()
	for _, p := range some {
		p.Set(fault{latency: calm.latency, holdPut: w.between(lease, longest)})
	}
	pass(w.between(0, lease/4))
	return w.during(some, fault{latency: calm.latency, noRenewals: true}, w.between(lease, longest))
}

// holdFences lets a process join to which others hand shards over by writes that are held on their way. Then some of
// these others go blind. Or the new one cannot renew, until some take it for dead and have the shards assigned to
// themselves again. Then the writes arrive, and it comes back before its Lease is deleted.
func (w *world) holdFences() error {
	if len(w.processes) >= w.most {
		return w.leaveOne()
	}
	f := fault{latency: calm.latency, holdFences: w.between(lease-time.Second, lease+2*time.Second)}
	givers, goBlind := w.givers(fmt.Sprintf("m%d", w.started)), w.rnd.IntN(4) == 0
	if goBlind {
		givers = givers[:(len(givers)+1)/2]
		f.holdFences = w.between(lease, longest)
	}
	for _, p := range givers {
		p.Set(f)
	}
	joiner := w.startAnother()
	pass(2 * time.Second)
	if goBlind {
		f.stallWatch = true
		return w.during(givers, f, longest)
	}
	joiner.Set(fault{latency: calm.latency, noRenewals: true})
	pass(w.between(lease*3/4, lease))
	return w.calm(append(givers, joiner)...)
}

// givers returns those that must hand shards over to one that joins.
func (w *world) givers(joiner string) []*process {
	identities := []string{joiner}
	owners := w.expected()
	for _, identity := range owners {
		identities = append(identities, identity)
	}
	slices.Sort(identities)
	assigned := shards.Assign(len(owners), slices.Compact(identities))
	gives := map[string]bool{}
	for s, identity := range assigned {
		if identity == joiner {
			gives[owners[fmt.Sprintf("sim-shard-%d-%d", len(owners), s)]] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(w.processes), func(p *process) bool { return !gives[p.identity] })
}

// deleteLease deletes a member's Lease, as somebody could by hand. Meanwhile another joins, which the member may not
// see.
func (w *world) deleteLease() error {
	p := w.one()
	p.Set(fault{latency: calm.latency, stallWatch: w.rnd.IntN(2) == 0})
	w.tally.fire(deletedLease)
	err := w.leases.Delete(context.Background(), "sim-member-"+p.identity, metav1.DeleteOptions{})
	if err != nil {
		return err
	}
	if len(w.processes) < w.most {
		w.startAnother()
	}
	pass(w.between(0, lease/2))
	return w.calm(p)
}

// reshard replaces the processes one by one by some with another number of shards, as a rolling update does. It may
// pause half way. Then the group shares the number that most have.
func (w *world) reshard() error {
	n := w.one().shards * 2
	if numbers := []int{4, 6, 8, 16}; slices.Contains(numbers, n/2) {
		n = numbers[w.rnd.IntN(4)]
	}
	pause := w.rnd.IntN(2 * len(w.processes))
	w.register.ConcernAll()
	for i, p := range slices.Clone(w.processes) {
		if p.shards == n {
			continue
		}
		if i == pause {
			if err := w.Settle(); err != nil {
				return err
			}
		}
		w.tally.fire(resharded)
		w.start(fmt.Sprintf("m%d", w.started), n, w.clock())
		if w.rnd.IntN(4) > 0 {
			pass(w.between(0, 5*time.Second))
		}
		w.leave(p)
	}
	w.ledger.Over()
	return w.Settle()
}
