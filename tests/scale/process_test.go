package scale

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"glasswatch/controller/shards"
)

// member is a *shards.Member, or one that follows its shards.
type member interface {
	Begin(parent context.Context, shard int) (ctx context.Context, done func(), ok bool)
	Held() []int
	Ready() error
	Run(ctx context.Context) error
}

// process is a replica: a member, and workers that reconcile the cells of its shards over and over.
type process struct {
	name, identity string
	shards         int
	member         member
	link           *link
	world          *world
	stopWithin     time.Duration
	stop           context.CancelFunc // as SIGTERM does
	kill           context.CancelFunc // as SIGKILL does: nothing of it reaches the server any more
	done           chan struct{}
	err            error
	reconciles     sync.WaitGroup
	visits         int // used by work only
}

const (
	leaseSeconds = 20
)

// start starts a replica whose clock shows seconds for each leaseSeconds that pass in truth: 19, 20 or 21. Time itself
// is the same for all in a bubble. So the replica's durations are stretched, and those in Leases are
// translated on the way.
func (w *world) start(identity string, n, seconds int) *process {
	w.started++
	p := &process{
		name: fmt.Sprintf("%s#%d", identity, w.started), identity: identity, shards: n, world: w,
		done: make(chan struct{}),
		link: newLink(w.handler, w.rnd.Uint64(), w.tally), stopWithin: time.Duration(seconds) * time.Second / 5,
	}
	client := newClient(p.link)
	var getter coordinationv1client.LeasesGetter = client
	if seconds != leaseSeconds {
		w.tally.fire(skewed)
		getter = skewedLeases{client, int32(seconds)}
	}
	opts := shards.Options{
		Namespace: "default", Name: "sim", Identity: identity, Shards: n,
		LeaseDuration: time.Duration(seconds) * time.Second,
	}
	var err error
	if w.objects == nil {
		p.member, err = shards.New(getter, opts)
	} else {
		p.link.lagging = w.objects.lagging
		p.member, err = w.objects.newFollower(getter, opts, p.link, w.rnd.IntN(2) == 0)
	}
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	working, kill := context.WithCancel(context.Background())
	p.stop, p.kill = stop, func() {
		p.Set(fault{partition: true})
		kill()
		stop()
	}
	w.register.Concern(identity)
	go func() {
		defer close(p.done)
		p.reconciles.Go(func() { p.work(working) })
		p.err = p.member.Run(ctx)
		kill()
		p.reconciles.Wait()
		p.link.held.Wait()
	}()
	w.processes = append(w.processes, p)
	return p
}

// newClient returns a client whose requests pass through a link.
func newClient(l *link) *coordinationv1client.CoordinationV1Client {
	client, err := coordinationv1client.NewForConfigAndClient(&rest.Config{
		Host: "http://server", QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"},
	}, &http.Client{Transport: l})
	if err != nil {
		panic(err)
	}
	return client
}

// Set changes what goes wrong between the process and the server, which is of concern for its Lease.
func (p *process) Set(f fault) {
	p.world.register.Concern(p.identity)
	p.link.Set(f)
}

// work reconciles each cell of the held shards about once in beat.
func (p *process) work(ctx context.Context) {
	busy := make([]bool, len(p.world.ledger.cells))
	var mu sync.Mutex
	for pause(ctx, beat) {
		for _, c := range p.cells() {
			mu.Lock()
			skip := busy[c]
			busy[c] = true
			mu.Unlock()
			if skip {
				continue
			}
			p.visits++
			v := visit{p.name, p.visits}
			p.reconciles.Go(func() {
				if ctx, done, ok := p.member.Begin(ctx, p.shardOf(c)); ok {
					p.reconcile(ctx, c, v)
					done()
				}
				mu.Lock()
				busy[c] = false
				mu.Unlock()
			})
		}
	}
}

// shardOf returns the shard that the middle of the cell is in.
func (p *process) shardOf(c int) int { return (2*c + 1) * p.shards / (2 * len(p.world.ledger.cells)) }

func (p *process) cells() (cells []int) {
	held := map[int]bool{}
	for _, s := range p.member.Held() {
		held[s] = true
	}
	for c := range p.world.ledger.cells {
		if held[p.shardOf(c)] {
			cells = append(cells, c)
		}
	}
	return cells
}

// reconcile reads, touches and writes a cell. It takes as long after its context was cancelled as it may: the last
// request arrives just in time.
func (p *process) reconcile(ctx context.Context, c int, v visit) {
	version := -1
	p.send(ctx, func(bool) { version = p.world.ledger.Begin(c, v) })
	if version < 0 {
		return
	}
	touches := p.world.touches
	if p.world.long.Load() && v.number%3 == 0 {
		touches = 4 * leaseSeconds // until it is cancelled
	}
	for i := range touches {
		if i >= p.world.touches && !p.world.long.Load() {
			break
		}
		pause(ctx, beat/2)
		if ctx.Err() != nil {
			break
		}
		p.send(ctx, func(bool) { p.world.ledger.Touch(c, v) })
	}
	if ctx.Err() != nil && p.killed() {
		return
	}
	if ctx.Err() != nil {
		time.Sleep(p.stopWithin - 4*calm.latency)
	}
	p.put(c, v, version)
}

// put sends the last write. That one may be held on its way.
func (p *process) put(c int, v visit, version int) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*calm.latency)
	defer cancel()
	_ = p.link.Do(ctx, update, func(late bool) { p.world.ledger.Put(c, v, version, late) })
}

func (p *process) send(ctx context.Context, arrive func(late bool)) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_ = p.link.Do(ctx, other, arrive)
}

func (p *process) killed() bool {
	p.link.mu.Lock()
	defer p.link.mu.Unlock()
	return p.link.fault.partition
}
