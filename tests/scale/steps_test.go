package scale

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// step is one kind of thing that happens to a group, and for how long a cell may be without work meanwhile.
type step struct {
	name string
	do   func(w *world) error
	// gap is the longest time without work that is allowed.
	gap time.Duration
}

// The bounds. A planned move takes a reconcile that has to finish, some requests and a look around. A member that is
// gone is waited out on the slowest clock, from when its last renewal was seen; then its Lease is revoked and its shards
// are taken, which may have to be tried again.
const (
	// cycle is how long a cell has no work although it has an owner.
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
	{"slow", (*world).slow, anything},
	{"lossy", (*world).lossy, anything},
	{"held put", (*world).hold, crash + lease},
	{"Lease deleted", (*world).deleteLease, crash},
	{"another number of shards", (*world).reshard, anything},
}

const maxMembers = 10

func (w *world) join() error {
	if len(w.processes) >= maxMembers && w.one().shards < 1000 {
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
	for _, p := range some {
		p.link.Set(calm)
	}
	return w.Settle()
}

func (w *world) partition() error {
	return w.during(w.some(), fault{latency: calm.latency, partition: true}, w.between(0, 2*lease))
}

func (w *world) loseRenewals() error {
	return w.during(w.some(), fault{latency: calm.latency, noRenewals: true}, w.between(lease/2, 2*lease))
}

func (w *world) stall() error {
	return w.during(w.some(), fault{latency: calm.latency, stallWatch: true}, w.between(0, 3*lease))
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

func (w *world) deleteLease() error {
	if err := w.deleteOne(); err != nil {
		return err
	}
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
