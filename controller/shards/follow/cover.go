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
	// maxSources is how many sources a kind has, if one would do for all its shards.
	maxSources = 4
)

// source is one watch of each kind: its name, and the shards that it has.
type source struct {
	name   string
	shards []int
}

// cover is the sources of all kinds.
type cover struct {
	sources []source
	named   int // how many sources were made
	// replaced are sources whose shards the last added ones have, too.
	replaced, added []source
}

// catchUp makes the sources cover the shards that are held now, and returns those that were not listed before, and are
// still held. It waits for lists. The error is that of ctx, or of a client that cannot be made.
func (g *Group) catchUp(ctx context.Context) (fresh []int, err error) {
	g.mu.Lock()
	held := maps.Clone(g.held)
	g.mu.Unlock()
	empty, err := g.letGo(ctx, held)
	if err != nil {
		return nil, err
	}
	for s, gain := range held {
		if g.listed[s] != gain {
			fresh = append(fresh, s)
		}
	}
	toList, atMost := slices.Clone(fresh), maxSources-1+len(divide(slices.Collect(maps.Keys(held))))
	for len(toList) > 0 && len(g.sources) >= atMost {
		smallest := slices.MinFunc(g.sources, bySize)
		g.replaced, toList = append(g.replaced, smallest), append(toList, smallest.shards...)
		g.forget(smallest)
	}
	for _, src := range empty {
		for _, k := range g.kinds {
			k.remove(src.name)
		}
	}
	if err := g.add(toList); err != nil {
		return nil, err
	}
	if err := g.wait(ctx); err != nil {
		return nil, err
	}
	g.mu.Lock()
	g.listed = held
	g.noteSourcesLocked()
	fresh = slices.DeleteFunc(fresh, func(s int) bool { return !g.listedLocked(s) }) // lost during the list
	g.mu.Unlock()
	for _, s := range fresh {
		g.opts.Metrics.listed(held[s])
	}
	slices.Sort(fresh)
	return fresh, nil
}

// retire removes the sources that were replaced. A kind whose watches are late does not hold the others up.
func (g *Group) retire(ctx context.Context) error {
	err := g.each(func(k kind) error {
		for _, src := range g.replaced {
			if err := k.replace(ctx, src.name, g.added); err != nil {
				return err
			}
		}
		return nil
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.replaced = nil
	g.noteSourcesLocked()
	return err
}

// noteSourcesLocked notes which sources have each shard: two while one is replaced. The store shows what either of them
// has, so it shows everything only up to where both have come.
func (g *Group) noteSourcesLocked() {
	g.sourcesOf = map[int][]string{}
	for _, src := range slices.Concat(g.sources, g.replaced) {
		for _, s := range src.shards {
			g.sourcesOf[s] = append(g.sourcesOf[s], src.name)
		}
	}
}

// letGo takes the shards that were lost out of the sources, also those that were got again since. It returns the
// sources that have none left.
func (g *Group) letGo(ctx context.Context, held map[int]*gain) (empty []source, err error) {
	for i, src := range g.sources {
		keep := slices.DeleteFunc(slices.Clone(src.shards), func(s int) bool { return held[s] != g.listed[s] })
		switch len(keep) {
		case len(src.shards):
		case 0:
			empty = append(empty, src)
		default:
			g.sources[i].shards = keep
			sel := shard.Selector{Field: g.opts.Field, Ranges: g.ranges(keep)}
			if err := g.each(func(k kind) error { return k.narrow(ctx, src.name, sel) }); err != nil {
				return nil, err
			}
		}
	}
	for _, src := range empty {
		g.forget(src)
	}
	return empty, nil
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

// divide divides shards into those of one source each. What is left of a source has at most MaxRanges ranges whatever it
// loses: at worst it keeps every second shard of a row.
func divide(shards []int) (parts [][]int) {
	slices.Sort(shards)
	ranges, row := 0, 0 // of the last part: the ranges at worst, and the length of the row of shards at its end
	for i, s := range shards {
		if i > 0 && s == shards[i-1]+1 {
			row++
		} else {
			row = 1
		}
		ranges += row % 2
		if i == 0 || ranges > MaxRanges {
			parts, ranges, row = append(parts, nil), 1, 1
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], s)
	}
	return parts
}

// add adds sources of these shards to each kind.
func (g *Group) add(toList []int) error {
	g.added = nil
	for _, part := range divide(toList) {
		g.named++
		src := source{name: strconv.Itoa(g.named), shards: part}
		for _, k := range g.kinds {
			if err := k.add(src.name, shard.Selector{Field: g.opts.Field, Ranges: g.ranges(part)}); err != nil {
				return err
			}
		}
		g.sources, g.added = append(g.sources, src), append(g.added, src)
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
