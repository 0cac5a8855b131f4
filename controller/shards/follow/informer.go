package follow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
	"glasswatch/sharedinformer/merged"
)

// kind is an Informer whose type is hidden.
type kind interface {
	Run(ctx context.Context) error
	add(name string, sel shard.Selector) error
	narrow(ctx context.Context, name string, sel shard.Selector) error // to less than before
	replace(ctx context.Context, name string, successors []source) error
	remove(name string)
	wait(ctx context.Context) error
	lastError() error
	count(byShard []int)
}

// Informer is one that follows the shards of its group.
type Informer[T listwatch.Object] struct {
	*merged.Informer[T]
	group  *Group
	client func(shard.Selector) (listwatch.ListerWatcher[T], error)
	of     func(T) int         // the shard of an object, -1 for none
	feeds  map[string]*feed[T] // by the name of their source; used by the group's loop only
}

// Add adds an informer to a group that does not run yet, and returns it. The group runs it. client makes what lists and
// watches the objects of a selector, as [listwatch.NewForConfig] does with it in its options. An error of it is
// returned here, for a selector of all shards.
//
// An object that leaves the store with its shard goes through Transform once more, as one that is deleted does.
//
// The informer has synced from the start, without an object: see [Group.Listed].
func Add[T listwatch.Object](
	g *Group, client func(shard.Selector) (listwatch.ListerWatcher[T], error), opts merged.Options[T],
) (*Informer[T], error) {
	return add(g, client, func(obj T) int { return g.Of(obj) }, opts)
}

// AddLabelled is Add for objects that are in the shard of their owner, which a label names: client is given a label
// selector. Whoever writes such an object sets its label to [Group.Label]. The store does not have an object without it,
// nor one whose label is that of another shard or of another number of shards.
func AddLabelled[T listwatch.Object](
	g *Group, label string, client func(labelSelector string) (listwatch.ListerWatcher[T], error),
	opts merged.Options[T],
) (*Informer[T], error) {
	byValue := make(map[string]int, g.shards)
	for s := range g.shards {
		byValue[g.Label(s)] = s
	}
	labelled := func(sel shard.Selector) (listwatch.ListerWatcher[T], error) {
		var values []string
		for s := range g.shards {
			if g.has(sel, s) {
				values = append(values, g.Label(s))
			}
		}
		return client(label + " in (" + strings.Join(values, ",") + ")")
	}
	of := func(obj T) int {
		if s, ok := byValue[obj.GetLabels()[label]]; ok {
			return s
		}
		return -1
	}
	return add(g, labelled, of, opts)
}

func add[T listwatch.Object](
	g *Group, client func(shard.Selector) (listwatch.ListerWatcher[T], error), of func(T) int, opts merged.Options[T],
) (*Informer[T], error) {
	all := shard.Selector{Field: g.opts.Field, Ranges: shard.Merge(shard.Of(0, 1))}
	if _, err := client(all); err != nil {
		return nil, fmt.Errorf("follow: %w", err)
	}
	// An object that is made again may be in another shard, as may one with another label. That is a deletion and an
	// add.
	opts.MoveGrace = -1
	sources, err := merged.New[T](nil, opts)
	if err != nil {
		return nil, err
	}
	i := &Informer[T]{sources, g, client, of, map[string]*feed[T]{}}
	g.kinds = append(g.kinds, i)
	return i, nil
}

// ShowsUpTo returns a resourceVersion up to which the store shows everything of the shard. The store's own version is
// that of the source which is the farthest behind. ShowsUpTo waits for the store to take over what its sources have
// read, but not longer than ctx. It returns "" if that is not known: ctx has ended, the shard is not listed, or a source
// lists for the first time. Such a list may take long, so ShowsUpTo does not wait for it.
func (i *Informer[T]) ShowsUpTo(ctx context.Context, shard int) string {
	i.group.mu.Lock()
	names := i.group.sourcesOf[shard]
	i.group.mu.Unlock()
	version := ""
	for _, source := range i.Sources() {
		if source.ResourceVersion == "" {
			return ""
		}
		if slices.Contains(names, source.Name) && (version == "" || rv.IsOlder(source.ResourceVersion, version)) {
			version = source.ResourceVersion
		}
	}
	if version == "" || i.wait(ctx) != nil || !i.group.Listed(shard) {
		return ""
	}
	return version
}

func (i *Informer[T]) add(name string, sel shard.Selector) error {
	lw, err := i.client(sel)
	if err != nil {
		return err
	}
	i.feeds[name] = &feed[T]{name: name, informer: i, sel: sel, lw: lw}
	return i.AddSource(merged.Source[T]{Name: name, ListerWatcher: i.feeds[name]})
}

func (i *Informer[T]) narrow(ctx context.Context, name string, sel shard.Selector) error {
	return i.feeds[name].narrow(ctx, sel)
}

// replace removes a source when its successors have read as far as it has. Until they are about there it reads on, so
// that a successor whose watch is late keeps nothing back. Then it ends, and they have only the last to catch up with.
func (i *Informer[T]) replace(ctx context.Context, name string, successors []source) error {
	f := i.feeds[name]
	if err := i.waitFor(ctx, successors, f.read()); err != nil {
		return err
	}
	last, err := f.freeze(ctx)
	if err != nil {
		return err
	}
	if err := i.waitFor(ctx, successors, last); err != nil {
		return err
	}
	i.remove(name)
	return nil
}

// waitFor waits for sources to read as far as a version.
func (i *Informer[T]) waitFor(ctx context.Context, sources []source, version string) error {
	isBehind := func(stats merged.SourceStats) bool {
		isMeant := slices.ContainsFunc(sources, func(s source) bool { return s.name == stats.Name })
		return isMeant && rv.IsOlder(stats.ResourceVersion, version)
	}
	for slices.ContainsFunc(i.Sources(), isBehind) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(gatherFor):
		}
	}
	return nil
}

func (i *Informer[T]) remove(name string) {
	delete(i.feeds, name)
	i.RemoveSource(name)
}

// wait returns when the store has what the sources have read by now. Each is past version 1 once it has listed.
func (i *Informer[T]) wait(ctx context.Context) error { return i.WaitForResourceVersion(ctx, "1") }

func (i *Informer[T]) lastError() error {
	if err := i.LastError(); err != nil {
		return fmt.Errorf("%s: not up to date: %w", i.Name(), err)
	}
	return nil
}

func (i *Informer[T]) count(byShard []int) {
	for _, obj := range i.Store().All() {
		if s := i.of(obj); s >= 0 {
			byShard[s]++
		}
	}
}
