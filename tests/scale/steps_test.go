package scale

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// step is one kind of thing that happens to a group.
type step struct {
	name string
	do   func(w *world) error
	// hits is what the step is about. It counts as taken only if something of this kind has happened.
	hits kind
	// gap is the longest time that a cell may be without work, and after the longest once the fault is over.
	gap, after time.Duration
}

var steps = []step{
	{"join", (*world).join, joined, planned, planned},
	{"leave", (*world).leaveOne, left, planned, planned},
	{"kill", (*world).killSome, killed, crash, crash},
	{"restart", (*world).restart, restarted, crash, crash},
	{"partition", (*world).partition, partitioned, crash, crash},
	{"renewals lost", (*world).loseRenewals, renewalLost, crash, crash},
	{"stalled watch", (*world).stall, watchStalled, blindness, crash},
	{"blind joiner", (*world).joinBlind, watchStalled, blindness, crash},
	{"slow", (*world).slow, slow, time.Hour, time.Hour},
	{"lossy", (*world).lossy, requestLost, time.Hour, time.Hour},
	{"held put", (*world).hold, putHeld, crash + lease, crash},
	{"held hand-over", (*world).holdFences, handOverHeld, time.Hour, time.Hour},
	{"Lease deleted", (*world).deleteLease, deletedLease, crash, crash},
	{"another number of shards", (*world).reshard, resharded, time.Hour, time.Hour},
}

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

// restart kills a process and starts one of the same name, as a container restarts in its Pod.
func (w *world) restart() error {
	p := w.one()
	w.tally.fire(restarted)
	p.kill()
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
	return w.during(w.some(), fault{latency: calm.latency, partition: true}, w.between(0, 2*lease))
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
	return w.during(some, fault{latency: calm.latency, noRenewals: true}, w.between(lease, 2*lease))
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
	return w.during(w.some(), fault{latency: w.between(time.Second, 3*time.Second)}, w.between(0, 2*lease))
}

func (w *world) lossy() error {
	return w.during(w.processes, fault{
		latency: calm.latency, loseRequest: w.rnd.Float64() / 2, loseAnswer: w.rnd.Float64() / 2,
	}, w.between(0, 2*lease))
}

// hold lets the next updates of some processes wait on their way for longer than a Lease lasts.
func (w *world) hold() error {
	some := w.some()
	for _, p := range some {
		p.Set(fault{latency: calm.latency, holdPut: w.between(lease, 2*lease)})
	}
	pass(w.between(0, lease/4))
	return w.during(some, fault{latency: calm.latency, noRenewals: true}, w.between(lease, 2*lease))
}

// holdFences lets a process join to which others hand shards over by writes that are held on their way. These others
// then go blind, take the new one for dead, and have the shards assigned to themselves again, when the writes arrive.
func (w *world) holdFences() error {
	if len(w.processes) >= w.most {
		return w.leaveOne()
	}
	some := w.some()
	f := fault{latency: calm.latency, holdFences: w.between(lease+2*time.Second, 2*lease)}
	for _, p := range some {
		p.Set(f)
	}
	w.startAnother()
	pass(2 * time.Second)
	f.stallWatch = true
	return w.during(some, f, 2*lease)
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

// reshard restarts the processes one by one with another number of shards, as a rolling update does.
func (w *world) reshard() error {
	n := w.one().shards * 2
	if numbers := []int{4, 6, 8, 16}; slices.Contains(numbers, n/2) {
		n = numbers[w.rnd.IntN(4)]
	}
	w.register.ConcernAll()
	for _, p := range slices.Clone(w.processes) {
		if p.shards == n {
			continue
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

// The bounds. A planned move takes a reconcile that has to finish, some requests and a look around. A member that is
// gone is waited out on the slowest clock, from when its last renewal was seen. Then its Lease is revoked and its
// shards are taken, which may have to be tried again.
const (
	planned = 12 * time.Second
	crash   = 21*time.Second + planned
	// blind members take two Leases: first they stop to renew.
	blindness = crash + 21*time.Second
)
