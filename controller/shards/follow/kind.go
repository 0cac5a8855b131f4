package follow

import (
	"context"
	"fmt"
	"iter"

	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
	"glasswatch/sharedinformer/merged"
)

// kind is an informer whose type is hidden.
type kind struct {
	add       func(name string, s shard.Selector) error
	narrow    func(ctx context.Context, name string, s shard.Selector) error // selects less than before
	remove    func(name string)
	wait      func(ctx context.Context) error // until the store has what the sources have listed
	run       func(ctx context.Context) error
	lastError func() error
	count     func(byShard []int)
}

// Informer is one that follows the shards of its group.
type Informer[T listwatch.Object] struct {
	*merged.Informer[T]
	group *Group
}

// ShowsUpTo returns a resourceVersion up to which the store shows everything of the shard. The store's own version is
// that of the source which is the farthest behind. ShowsUpTo waits for the store to take over what its sources have
// read, but not longer than ctx. It returns "" if that is not known: ctx has ended, no source has the shard, or one
// lists for the first time. Such a list may take long, so ShowsUpTo does not wait for it.
func (i *Informer[T]) ShowsUpTo(ctx context.Context, shard int) string {
	i.group.mu.Lock()
	name := i.group.sourceOf[shard]
	i.group.mu.Unlock()
	version := ""
	for _, source := range i.Sources() {
		if source.ResourceVersion == "" {
			return ""
		}
		if source.Name == name {
			version = source.ResourceVersion
		}
	}
	if version == "" || i.wait(ctx) != nil {
		return ""
	}
	return version
}

// wait returns when the store has what the sources have read by now. Each is past version 1 once it has listed.
func (i *Informer[T]) wait(ctx context.Context) error { return i.WaitForResourceVersion(ctx, "1") }

// Add adds an informer to a group that does not run yet, and returns it. The group runs it. client makes what lists and
// watches the objects of a selector, as [listwatch.NewForConfig] does with it in its options. An error of it is
// returned here, for a selector of all shards.
//
// The informer has synced from the start, without an object: see [Group.Listed].
func Add[T listwatch.Object](
	g *Group, client func(shard.Selector) (listwatch.ListerWatcher[T], error), opts merged.Options[T],
) (*Informer[T], error) {
	all := shard.Selector{Field: g.opts.Field, Ranges: shard.Merge(shard.Of(0, 1))}
	if _, err := client(all); err != nil {
		return nil, fmt.Errorf("follow: %w", err)
	}
	// The field that decides over the shard does not change, so no object moves. A key does, if its object is made again
	// with another UID; that is a deletion and an add.
	opts.MoveGrace = -1
	sources, err := merged.New[T](nil, opts)
	if err != nil {
		return nil, err
	}
	informer := &Informer[T]{sources, g}
	feeds := map[string]*feed[T]{}
	stored := func(ctx context.Context) (iter.Seq2[listwatch.Key, T], error) {
		if err := informer.wait(ctx); err != nil {
			return nil, err
		}
		return informer.Store().All(), nil
	}
	g.kinds = append(g.kinds, &kind{
		add: func(name string, s shard.Selector) error {
			lw, err := client(s)
			if err != nil {
				return err
			}
			feeds[name] = &feed[T]{client: client, stored: stored, sel: s, lw: lw}
			return informer.AddSource(merged.Source[T]{Name: name, ListerWatcher: feeds[name]})
		},
		narrow: func(ctx context.Context, name string, s shard.Selector) error { return feeds[name].narrow(ctx, s) },
		remove: func(name string) {
			delete(feeds, name)
			informer.RemoveSource(name)
		},
		wait: informer.wait,
		run:  informer.Run,
		lastError: func() error {
			if err := informer.LastError(); err != nil {
				return fmt.Errorf("%s: not up to date: %w", informer.Name(), err)
			}
			return nil
		},
		count: func(byShard []int) {
			for _, obj := range informer.Store().All() {
				byShard[g.Of(obj)]++
			}
		},
	})
	return informer, nil
}
