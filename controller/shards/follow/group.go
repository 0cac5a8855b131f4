package follow

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"glasswatch/controller/shards"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
)

// Options of a Group.
type Options struct {
	// Member are the options of its member. OnChange is called after the Group has taken note.
	Member shards.Options
	// Field is what shards divide objects by. It must be the same in all members.
	Field   shard.Field
	Metrics Metrics
	// OnListed is told of shards whose keys can be reconciled from now on, one call at a time. It must enqueue them.
	OnListed func(shards []int)
}

// Group is a member and its informers, which follow its shards. Make it with [New], then [Add] the kinds. Its methods
// are safe for concurrent use.
type Group struct {
	*shards.Member
	opts    Options
	shards  int
	kinds   []kind // does not change once it runs
	changed chan struct{}
	cover   // used by the loop only

	mu sync.Mutex // protects what follows
	// held has the shards that are held. listed is a copy of it, made before the present sources were listed. A shard is
	// listed if it has the same gain in both. Only the loop writes listed.
	held, listed map[int]*gain
	sourcesOf    map[int][]string // the sources that have a shard which is listed
}

// gain is one time that a shard was got: when, and since when nobody worked on it. Two are the same if the pointers are.
type gain struct{ got, unowned time.Time }

// Metrics are hooks that may be nil. They must be fast.
type Metrics struct {
	// Changed is told how many shards are held, after so many were got and lost.
	Changed func(held, got, lost int)
	// Listed is called for each shard when it is listed: unowned is how long nobody could reconcile its keys, lag how long
	// ago this member got it.
	Listed func(unowned, lag time.Duration)
}

func (m Metrics) listed(g *gain) {
	if m.Listed != nil {
		m.Listed(time.Since(g.unowned), time.Since(g.got))
	}
}

// New returns a group without kinds, which does nothing before Run. The errors are those of [shards.New].
func New(client coordinationv1client.LeasesGetter, opts Options) (*Group, error) {
	if opts.Field != shard.UID && opts.Field != shard.Namespace {
		return nil, fmt.Errorf("follow: Field is %q: it must be %q or %q", opts.Field, shard.UID, shard.Namespace)
	}
	if opts.Member.Shards == 0 {
		opts.Member.Shards = 256
	}
	g := &Group{
		opts: opts, shards: opts.Member.Shards, changed: make(chan struct{}, 1),
		held: map[int]*gain{}, listed: map[int]*gain{},
	}
	tell := opts.Member.OnChange
	opts.Member.OnChange = func(gained map[int]time.Time, lost []int) {
		g.note(gained, lost)
		if tell != nil {
			tell(gained, lost)
		}
	}
	var err error
	g.Member, err = shards.New(client, opts.Member)
	return g, err
}

// note takes over what the member has got and lost. A shard in both lists is got anew.
func (g *Group) note(gained map[int]time.Time, lost []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range lost {
		delete(g.held, s)
	}
	for s, unowned := range gained {
		g.held[s] = &gain{time.Now(), unowned}
	}
	if g.opts.Metrics.Changed != nil {
		g.opts.Metrics.Changed(len(g.held), len(gained), len(lost))
	}
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// Of returns the shard of an object.
func (g *Group) Of(obj listwatch.Object) int { return g.OfValue(g.opts.Field.Of(obj)) }

// OfValue returns the shard of objects whose field has this value.
func (g *Group) OfValue(value string) int { return shard.Index(shard.Hash(value), g.shards) }

// Label is the value of a label that says that an object belongs to the shard: see [AddLabelled].
func (g *Group) Label(shard int) string { return strconv.Itoa(g.shards) + "-" + strconv.Itoa(shard) }

// has reports whether a selector, which is of whole shards, selects this one.
func (g *Group) has(sel shard.Selector, s int) bool {
	return s >= 0 && sel.Ranges.Contains(shard.Of(s, g.shards).First)
}

// Listed reports whether the shard is held, and the stores have had all of it since.
func (g *Group) Listed(shard int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.listedLocked(shard)
}

func (g *Group) listedLocked(shard int) bool {
	gain, held := g.held[shard]
	return held && g.listed[shard] == gain
}

// Begin is [shards.Member.Begin] for listed shards, and hides it. OnListed tells when to try again.
//
// The member tells the Group of a loss before it can hold the shard again. So a pin on a shard that was got again never
// goes with the list of the time before.
func (g *Group) Begin(parent context.Context, shard int) (ctx context.Context, done func(), ok bool) {
	ctx, done, ok = g.Member.Begin(parent, shard)
	if ok && !g.Listed(shard) {
		done()
		return nil, nil, false
	}
	return ctx, done, ok
}

// gatherFor is how long a change waits for more: a member gets its shards by the dozen.
const gatherFor = 100 * time.Millisecond

// Run takes part until ctx ends, and then leaves; see [shards.Member.Run] for how and for the error. The informers run
// until no reconcile is left. If a source cannot be made, Run leaves, too, and returns why: others can have the shards.
func (g *Group) Run(ctx context.Context) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var informers errgroup.Group
	for _, k := range g.kinds {
		informers.Go(func() error { return k.Run(following) })
	}
	informers.Go(func() error {
		defer leave()
		return g.follow(following)
	})
	err := g.Member.Run(ctx)
	stop()
	return errors.Join(err, informers.Wait())
}

// follow lists what is gained until ctx ends. Lists are tried again until then, so an error is that of a client that
// cannot be made.
func (g *Group) follow(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-g.changed:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(gatherFor):
		}
		fresh, err := g.catchUp(ctx)
		if len(fresh) > 0 && g.opts.OnListed != nil {
			g.opts.OnListed(fresh)
		}
		if err == nil {
			err = g.retire(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("follow: the informers cannot follow their shards: %w", err)
		}
	}
}

// Ready returns nil while the member takes part, and the stores have all shards that it holds and follow the server.
func (g *Group) Ready() error {
	errs := []error{g.Member.Ready()}
	for _, k := range g.kinds {
		errs = append(errs, k.lastError())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	missing := 0
	for s := range g.held {
		if !g.listedLocked(s) {
			missing++
		}
	}
	if missing > 0 {
		errs = append(errs, fmt.Errorf("shards: %d of %d shards are not listed yet", missing, len(g.held)))
	}
	return errors.Join(errs...)
}

// Largest returns how many objects the stores have, and how many of these are in the largest shard. It looks at each.
func (g *Group) Largest() (objects, largest int) {
	counts := make([]int, g.shards)
	for _, k := range g.kinds {
		k.count(counts)
	}
	for _, n := range counts {
		objects, largest = objects+n, max(largest, n)
	}
	return objects, largest
}
