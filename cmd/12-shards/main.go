// Command 12-shards lets five replicas of the ingress controller work at once. It kills one, cuts one off, adds one and
// stops one, and checks from outside what each did.
package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"glasswatch/cmd/internal/demo"
	"glasswatch/internal/apiserver"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "12-shards", Title: "Many replicas at work, each on its shards",
	Layer: "controller/shards/doc.go", Next: "docs/learn/tour.md, chapter 10", Tell: tell,
	Server: apiserver.Options{GarbageDelay: time.Second}} // nothing is deleted, so there is nothing to collect

// tell plays the steps in one world. All replicas have ended when it returns.
func tell(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithCancel(ctx)
	w := newWorld(d)
	defer w.end(cancel)
	for _, step := range []func(context.Context){w.share, w.kill, w.cutOff, w.join, w.leave, w.check} {
		step(ctx)
	}
	return nil
}

func (w *world) share(ctx context.Context) {
	w.d.Step("Five replicas share the work")
	w.watch(ctx)
	for n := range 5 {
		w.start(ctx, fmt.Sprintf("replica-%d", n+1))
	}
	w.settle(ctx)
	w.d.Did("started five replicas of the ingress controller, with %d shards by %s", shardCount, w.by)
	w.create(ctx)
	w.d.Did("created %d Services in %d namespaces", len(w.services), w.namespaces)
	w.showOwners()
	w.showWaits(all, w.Owners(), "")
	w.d.Why("a shard is a range of hashes. Each replica lists, watches and reconciles what is in its shards. " +
		"Rendezvous hashing says whose a shard is: of all that live, the one whose name has the highest hash " +
		"together with the shard. All compute the same, and no leader decides")
	if w.d.InProcess {
		w.showNames()
	}
}

func (w *world) kill(ctx context.Context) {
	w.d.Step("One is killed")
	before := w.now()
	w.storm(ctx, 0, func() { w.replicas["replica-2"].kill() })
	w.settle(ctx)
	w.d.Did("changed %d Services; meanwhile replica-2 died, and told nobody", len(w.part(0)))
	w.showMoves(before, "replica-2")
	w.showWaits(0, before.owners, "replica-2")
	w.d.Why("the others cannot know that it is dead. They wait until its Lease has run out, %v after they saw its "+
		"last renewal. Services of other shards do not wait. Each that got shards lists these, and nothing that it "+
		"had: once the Services, and once the Ingresses", leaseDuration)
}

func (w *world) cutOff(ctx context.Context) {
	w.d.Step("One is cut off")
	before, wire, begun := w.now(), w.replicas["replica-3"].wire, time.Now()
	w.storm(ctx, 1, wire.Cut)
	w.settle(ctx)
	w.d.Did("changed the next %d Services; meanwhile replica-3 lost its network, and runs on", len(w.part(1)))
	w.showMoves(before, "replica-3")
	stopped, taken := w.LastWork("replica-3"), w.FirstLoss("replica-3", begun)
	if !stopped.Before(taken) {
		demo.Check(fmt.Errorf("it went on for %v after its first shard was another's", stopped.Sub(taken)))
	}
	w.d.Saw("its last reconcile ended%s before the first of its shards was another's", demo.Millis(taken.Sub(stopped)))
	w.showWaits(1, before.owners, "replica-3")
	lists := w.Lists()["replica-3"]
	wire.Mend()
	w.settle(ctx)
	demo.Until(ctx, "replica-3 lists its shards again", func() bool { return w.Lists()["replica-3"] > lists })
	w.settle(ctx)
	w.d.Did("mended its network")
	w.d.Saw("each shard is where it was at first: %t", slices.Equal(before.owners, w.Owners()))
	w.d.Why("it counts from when it sent its last renewal, and the others from when they saw it, which is later. So " +
		"it stops before they begin, and no clock is compared with another")
}

func (w *world) join(ctx context.Context) {
	w.d.Step("One joins")
	before := w.now()
	w.storm(ctx, 2, func() { w.start(ctx, "replica-6") })
	w.settle(ctx)
	w.d.Did("changed the next %d Services; meanwhile replica-6 joined", len(w.part(2)))
	w.showMoves(before, "replica-6")
	w.showWaits(2, w.Owners(), "replica-6")
	w.d.Why("the fifth member takes about a fifth, from all others. They finish what they are at, and then write its " +
		"name into the fences. It lists once a fence names it, so it sees all that they wrote. The others list " +
		"nothing: their watches go on with fewer ranges of hashes")
}

func (w *world) leave(ctx context.Context) {
	w.d.Step("One leaves")
	before := w.now()
	w.storm(ctx, 3, func() { w.replicas["replica-1"].leave() })
	w.settle(ctx)
	w.d.Did("changed the next %d Services; meanwhile replica-1 was asked to end", len(w.part(3)))
	w.showMoves(before, "replica-1")
	w.showWaits(3, before.owners, "replica-1")
	w.d.Why("it finishes what it is at, and then ends its Lease. That frees all its shards at once, so nobody waits " +
		"for the Lease to run out: a rolling update is cheap")
}

func (w *world) check(ctx context.Context) {
	w.d.Step("Seen from outside")
	w.showOwners()
	twice, forgotten := w.AtOnce(), w.forgotten(ctx)
	writes, unfenced := w.Writes(w.shardOf)
	w.d.Saw("keys that two replicas reconciled at the same time: %d", len(twice))
	w.d.Saw("Services whose Ingress is not as the last change asks: %d", forgotten)
	w.d.Saw("writes that the server took: one for each change, %t", writes == w.changes)
	w.d.Saw("writes of a replica that did not own the shard then: %d", len(unfenced))
	if len(twice)+forgotten+len(unfenced) > 0 || writes != w.changes {
		demo.Check(fmt.Errorf("at once %.200v; forgotten %d; %d writes for %d changes; not the owner's %.200v",
			twice, forgotten, writes, w.changes, unfenced))
	}
	w.d.Why("a fence is a Lease that names the owner of one shard, for as long as the owner's own Lease goes on. " +
		"Versions grow over all kinds of a server, so the version of a write tells what both said then. What the " +
		"replicas believe is not asked")
}
