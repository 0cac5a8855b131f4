package follow

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"glasswatch/listwatch/shard"
)

const (
	// MaxRanges is how many ranges a selector has at most. One has some 105 bytes in a URL.
	MaxRanges = 64
	// maxSources is how many sources a kind has, unless one list needs several selectors.
	maxSources = 4
)

// source is one watch of each kind: its name, and the shards that it has.
type source struct {
	name   string
	shards []int
}

// cover is what the sources of all kinds cover.
type cover struct {
	sources []source
	covered map[int]*gain // what Group.held was when they began
	named   int
}

// catchUp makes the sources cover the shards that are held now, and returns those that were not listed before. It waits
// for lists. The error is that of ctx, or of a client that cannot be made.
func (g *Group) catchUp(ctx context.Context) (listed []int, err error) {
	g.mu.Lock()
	held := maps.Clone(g.held)
	g.mu.Unlock()
	former, toList, err := g.letGo(ctx, held)
	if err != nil {
		return nil, err
	}
	for s, gain := range held {
		if g.covered[s] != gain {
			listed = append(listed, s)
		}
	}
	toList = append(toList, listed...)
	for len(toList) > 0 && len(g.sources) >= maxSources {
		smallest := slices.MinFunc(g.sources, bySize)
		former, toList = append(former, smallest), append(toList, smallest.shards...)
		g.forget(smallest)
	}
	if err := g.add(toList); err != nil {
		return nil, err
	}
	if err := g.wait(ctx); err != nil { // before the sources go that had some of it
		return nil, err
	}
	for _, src := range former {
		for _, k := range g.kinds {
			k.remove(src.name)
		}
	}
	if err := g.wait(ctx); err != nil { // what only these had must be gone before reconciles begin
		return nil, err
	}
	g.mu.Lock()
	g.listed, g.covered, g.sourceOf = held, held, map[int]string{}
	for _, src := range g.sources {
		for _, s := range src.shards {
			g.sourceOf[s] = src.name
		}
	}
	g.mu.Unlock()
	for _, s := range listed {
		g.opts.Metrics.listed(held[s])
	}
	slices.Sort(listed)
	return listed, nil
}

// letGo takes the shards that were lost out of the sources, also those that were got again since. It returns the
// sources that have none left or too many ranges, and what is to be listed before those can be removed.
func (g *Group) letGo(ctx context.Context, held map[int]*gain) (former []source, toList []int, err error) {
	for i, src := range g.sources {
		keep := slices.DeleteFunc(slices.Clone(src.shards), func(s int) bool { return held[s] != g.covered[s] })
		g.sources[i].shards = keep
		switch ranges := g.ranges(keep); {
		case len(keep) == len(src.shards):
		case len(keep) == 0 || len(ranges) > MaxRanges:
			former, toList = append(former, src), append(toList, keep...)
		default:
			sel := shard.Selector{Field: g.opts.Field, Ranges: ranges}
			if err := g.each(func(k kind) error { return k.narrow(ctx, src.name, sel) }); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, src := range former {
		g.forget(src)
	}
	return former, toList, nil
}

func bySize(a, b source) int { return cmp.Compare(len(a.shards), len(b.shards)) }

func (g *Group) forget(gone source) {
	g.sources = slices.DeleteFunc(g.sources, func(src source) bool { return src.name == gone.name })
}

// ranges returns the hashes of these shards.
func (g *Group) ranges(of []int) shard.Ranges {
	ranges := make([]shard.Range, len(of))
	for i, s := range of {
		ranges[i] = shard.Of(s, g.shards)
	}
	return shard.Merge(ranges...)
}

// add adds sources of these shards to each kind.
func (g *Group) add(toList []int) error {
	for some := range slices.Chunk(g.ranges(toList), MaxRanges) {
		g.named++
		src := source{name: strconv.Itoa(g.named)}
		for _, s := range toList {
			if some.Contains(shard.Of(s, g.shards).First) {
				src.shards = append(src.shards, s)
			}
		}
		for _, k := range g.kinds {
			if err := k.add(src.name, shard.Selector{Field: g.opts.Field, Ranges: some}); err != nil {
				return err
			}
		}
		g.sources = append(g.sources, src)
	}
	return nil
}

// wait returns when the sources have listed, and the stores have all that they have said.
func (g *Group) wait(ctx context.Context) error {
	return g.each(func(k kind) error { return k.wait(ctx) })
}

// each calls do for all kinds at once.
func (g *Group) each(do func(kind) error) error {
	var kinds errgroup.Group
	for _, k := range g.kinds {
		kinds.Go(func() error { return do(k) })
	}
	return kinds.Wait()
}
