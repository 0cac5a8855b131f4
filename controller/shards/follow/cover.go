package follow

import (
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
	// maxSources is how many sources a kind may have before one list of all takes their place. Selectors with
	// MaxRanges do not count as one.
	maxSources = 4
)

// cover is what the sources of all kinds cover.
type cover struct {
	sources []string       // their names, which are the same for each kind
	covered map[int]uint64 // what Group.held had when they began
	changes int            // that have added sources since there was one list of all
	named   int
}

// catchUp makes the sources cover the shards that are held now, and returns those that were not listed before. It waits
// for lists. The error is that of ctx.
func (g *Group) catchUp(ctx context.Context) (listed []int, err error) {
	g.mu.Lock()
	held := maps.Clone(g.held)
	g.mu.Unlock()
	var missing []int
	for s, gain := range held {
		if g.covered[s] != gain {
			missing = append(missing, s)
		}
	}
	slices.Sort(missing)
	outdated := false // a source has a shard that was lost, perhaps got again
	for s, gain := range g.covered {
		outdated = outdated || held[s] != gain
	}
	if !outdated && len(missing) == 0 {
		return nil, nil
	}
	toList, former := missing, []string(nil)
	if g.changes++; outdated || g.changes >= maxSources {
		toList, former, g.changes = slices.Sorted(maps.Keys(held)), g.sources, 1
	}
	added, sourceOf, err := g.add(toList)
	g.sources = append(g.sources, added...)
	if err == nil {
		err = g.wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	if len(former) > 0 {
		g.sources = added
		if err := g.drop(ctx, former); err != nil {
			return nil, err
		}
	}
	g.covered = held
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listed = held
	if len(former) > 0 || g.sourceOf == nil {
		g.sourceOf = map[int]string{}
	}
	maps.Copy(g.sourceOf, sourceOf)
	return missing, nil
}

// add adds sources of these shards to each kind.
func (g *Group) add(toList []int) (names []string, sourceOf map[int]string, err error) {
	ranges := make([]shard.Range, len(toList))
	for i, s := range toList {
		ranges[i] = shard.Of(s, g.shards)
	}
	sourceOf = map[int]string{}
	for some := range slices.Chunk(shard.Merge(ranges...), MaxRanges) {
		g.named++
		name := strconv.Itoa(g.named)
		names = append(names, name)
		for _, s := range toList {
			if some.Contains(shard.Of(s, g.shards).First) {
				sourceOf[s] = name
			}
		}
		for _, k := range g.kinds {
			if err := k.add(name, shard.Selector{Field: g.opts.Field, Ranges: some}); err != nil {
				return names, nil, err
			}
		}
	}
	return names, sourceOf, nil
}

// drop removes sources from each kind, and waits until their objects have left the stores.
func (g *Group) drop(ctx context.Context, names []string) error {
	for _, k := range g.kinds {
		for _, name := range names {
			k.remove(name)
		}
	}
	return g.wait(ctx)
}

// wait returns when the stores have all that their sources have listed.
func (g *Group) wait(ctx context.Context) error {
	var kinds errgroup.Group
	for _, k := range g.kinds {
		kinds.Go(func() error { return k.wait(ctx) })
	}
	return kinds.Wait()
}
