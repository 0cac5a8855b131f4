package scale

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// step is one kind of thing that happens to a group, and for how long a cell may be without work meanwhile.
type step struct {
	name string
	do   func(w *world) error
	// gap is the longest time without work that is allowed.
	gap time.Duration
}

// The bounds. A planned move takes a reconcile that has to finish, some requests and a look around. A member that is
// gone is waited out on the slowest clock, from when its last renewal was seen. Then its Lease is revoked and its
// shards are taken, which may have to be tried again.
const (
	planned = 12 * time.Second
	crash   = 21*time.Second + planned
	// blind members take two Leases: first they stop to renew.
	blindness = crash + 21*time.Second
	// without a bound: requests are lost one after the other.
	anything = time.Hour
)

var steps = []step{
	{"join", (*world).join, planned},
	{"leave", (*world).leaveOne, planned},
	{"kill", (*world).killSome, crash},
	{"restart", (*world).restart, crash},
	{"partition", (*world).partition, crash},
	{"renewals lost", (*world).loseRenewals, crash},
	{"stalled watch", (*world).stall, blindness},
	{"blind joiner", (*world).joinBlind, blindness},
	{"slow", (*world).slow, anything},
	{"lossy", (*world).lossy, anything},
	{"held put", (*world).hold, crash + lease},
	{"held hand-over", (*world).holdFences, anything},
	{"Lease deleted", (*world).deleteLease, crash},
	{"another number of shards", (*world).reshard, anything},
}

const maxMembers = 10

func (w *world) join() error {
	if len(w.processes) >= maxMembers && w.one().shards < 1000 {
		w.instead = true
		return w.leaveOne()
	}
	before, versions, _, err := w.owners()
	if err != nil {
		return err
	}
	p := w.start(fmt.Sprintf("m%d", w.started), w.one().shards, w.clock())
	w.tally.fire(joined)
	if err := w.Settle(); err != nil {
		return err
	}
	return w.moved(before, versions, p, p.identity)
}

// moved checks that exactly the shards that had to move were written, and that they were about a fair share.
func (w *world) moved(before, versions map[string]string, p *process, identity string) error {
	after, newer, _, err := w.owners()
	if err != nil {
		return err
	}
	prefix := fmt.Sprintf("sim-shard-%d-", p.shards)
	moves := 0
	for name := range after {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		concerns := strings.HasPrefix(after[name], identity+"/") || strings.HasPrefix(before[name], identity+"/")
		switch written := newer[name] != versions[name]; {
		case concerns:
			moves++
		case written:
			return fmt.Errorf("%s of %s: %s moved from %q to %q", w.step, identity, name, before[name], after[name])
		}
	}
	n := len(w.processes)
	if slices.Contains(w.processes, p) {
		n--
	}
	fair := float64(p.shards) / float64(n+1)
	if limit := fair + 5*math.Sqrt(fair); float64(moves) > limit {
		return fmt.Errorf("%s of %s: %d shards moved, more than %.0f", w.step, identity, moves, limit)
	}
	return nil
}

func (w *world) leaveOne() error {
	if len(w.processes) < 3 {
		w.instead = true
		return w.join()
	}
	before, versions, _, err := w.owners()
	if err != nil {
		return err
	}
	p := w.one()
	w.tally.fire(left)
	p.stop()
	<-p.done
	w.remove(p)
	if p.err != nil {
		return p.err
	}
	if err := w.Settle(); err != nil {
		return err
	}
	return w.moved(before, versions, p, p.identity)
}

func (w *world) killSome() error {
	if len(w.processes) < 3 {
		w.instead = true
		return w.join()
	}
	for _, p := range w.some() {
		w.tally.fire(killed)
		p.kill()
		w.remove(p)
	}
	return w.Settle()
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
		p.link.Set(f)
	}
	pass(d)
	w.long.Store(false)
	for _, p := range some {
		p.link.Set(calm)
	}
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
		p.link.Set(fault{latency: calm.latency, lateAnswers: true})
	}
	w.long.Store(true)
	pass(w.between(lease/4, lease))
	return w.during(some, fault{latency: calm.latency, noRenewals: true}, w.between(lease, 2*lease))
}

// stall blinds some processes, and kills one of the others, whose shards the blind ones should take. One of the blind
// sees again before the rest. Meanwhile it may have taken others for dead that do not know.
func (w *world) stall() error {
	blind := w.some()
	blind = slices.Clone(w.processes[:min(max(len(blind), 2), len(w.processes)-1)])
	if others := w.processes[len(blind):]; len(others) > 1 {
		w.tally.fire(killed)
		others[0].kill()
		w.remove(others[0])
	}
	stalled := fault{latency: calm.latency, stallWatch: true}
	for _, p := range blind {
		p.link.Set(stalled)
	}
	pass(w.between(lease, lease*3/2))
	blind[0].link.Set(calm)
	return w.during(blind[1:], stalled, w.between(0, 4*lease))
}

// joinBlind blinds some processes, so that they do not see that another joins, which is owed some of their shards. That
// one then goes blind as well, takes them for dead, and sees again while they still work.
func (w *world) joinBlind() error {
	if len(w.processes) >= maxMembers {
		w.instead = true
		return w.leaveOne()
	}
	blind, stalled := w.some(), fault{latency: calm.latency, stallWatch: true}
	for _, p := range blind {
		p.link.Set(stalled)
	}
	p := w.start(fmt.Sprintf("m%d", w.started), blind[0].shards, w.clock())
	pass(time.Second)
	p.link.Set(stalled)
	pass(w.between(lease+time.Second, lease*7/5))
	p.link.Set(calm)
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
		p.link.Set(fault{latency: calm.latency, holdPut: w.between(lease, 2*lease)})
	}
	pass(w.between(0, lease/4))
	for _, p := range some {
		p.link.Set(fault{latency: calm.latency, noRenewals: true})
	}
	pass(w.between(lease, 2*lease))
	for _, p := range some {
		p.link.Set(calm)
	}
	return w.Settle()
}

// holdFences lets a process join to which others hand shards over by writes that are held on their way. These others
// then go blind, take the new one for dead, and have the shards assigned to themselves again, when the writes arrive.
func (w *world) holdFences() error {
	if len(w.processes) >= maxMembers {
		w.instead = true
		return w.leaveOne()
	}
	some := w.some()
	f := fault{latency: calm.latency, holdFences: w.between(lease+2*time.Second, 2*lease)}
	for _, p := range some {
		p.link.Set(f)
	}
	w.start(fmt.Sprintf("m%d", w.started), some[0].shards, w.clock())
	pass(2 * time.Second)
	f.stallWatch = true
	return w.during(some, f, 2*lease)
}

// deleteLease deletes a member's Lease, as somebody could by hand. Meanwhile another joins, which the member may not
// see.
func (w *world) deleteLease() error {
	p := w.one()
	p.link.Set(fault{latency: calm.latency, stallWatch: w.rnd.IntN(2) == 0})
	w.tally.fire(deletedLease)
	err := w.leases.Delete(context.Background(), "sim-member-"+p.identity, metav1.DeleteOptions{})
	if err != nil {
		return err
	}
	if len(w.processes) < maxMembers {
		w.start(fmt.Sprintf("m%d", w.started), p.shards, w.clock())
	}
	pass(w.between(0, lease/2))
	p.link.Set(calm)
	return w.Settle()
}

// reshard restarts the processes one by one with another number of shards, as a rolling update does.
func (w *world) reshard() error {
	n := []int{4, 6, 8, 16}[w.rnd.IntN(4)]
	for _, p := range slices.Clone(w.processes) {
		if p.shards == n {
			continue
		}
		w.tally.fire(resharded)
		w.start(fmt.Sprintf("m%d", w.started), n, w.clock())
		if w.rnd.IntN(4) > 0 {
			pass(w.between(0, 5*time.Second))
		}
		p.stop()
		w.remove(p)
	}
	return w.Settle()
}
