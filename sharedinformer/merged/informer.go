package merged

import (
	"fmt"
	"time"

	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

// DefaultMoveGrace is the default of [Options].MoveGrace.
const DefaultMoveGrace = time.Second

// Source is one of the lists that an Informer puts together: a namespace, or a selector, of its resource.
type Source[T listwatch.Object] struct {
	// Name is for errors and statistics, and unique in its informer.
	Name string
	// ListerWatcher lists and watches this source only.
	ListerWatcher listwatch.ListerWatcher[T]
	// Namespace, if not empty, says that all its objects are in that namespace. Sources of different namespaces share
	// no object, so a deletion in one does not wait for the others.
	Namespace string
}

// Options of an Informer. The zero value is useful.
type Options[T listwatch.Object] struct {
	// Options are the informer's. New replaces Feed and VersionsByBookmark. All sources' reflectors use
	// Options.Reflector, whose functions are called from as many goroutines; ResumeFrom is ignored. Transform is
	// called from as many, too.
	sharedinformer.Options[T]
	// MoveGrace is the longest time that a deletion waits for the other sources that might have the object. An object
	// that left one selector for another is then one update. Zero: DefaultMoveGrace; negative: no wait.
	MoveGrace time.Duration
}

// Informer is a [sharedinformer.Informer] on many sources of one resource, with one store.
type Informer[T listwatch.Object] struct {
	*sharedinformer.Informer[T]
	merge  *merge[T]
	perKey bool
}

// New returns an informer on sources, which lists and watches nothing before Run. There may be none: it then syncs at
// once, and sources are added later. Two sources of one name, and one without a ListerWatcher, are an error.
func New[T listwatch.Object](sources []Source[T], opts Options[T]) (*Informer[T], error) {
	if opts.MoveGrace == 0 {
		opts.MoveGrace = DefaultMoveGrace
	}
	m := &merge[T]{
		moveGrace: opts.MoveGrace, transformer: opts.Transform,
		entries: map[key]*entry[T]{}, waiting: map[*entry[T]]struct{}{},
		waiters: waiters{all: map[*waiter]struct{}{}}, ended: make(chan struct{}),
	}
	opts.Transform = nil // the merge calls it
	opts.VersionsByBookmark = true
	opts.Feed = func(
		_ listwatch.ListerWatcher[T], queue sharedinformer.Queue[T], reflectorOpts reflector.Options,
	) sharedinformer.Feeder {
		m.queue = queue
		m.opts = reflectorOpts
		return m
	}
	stored := opts.Metrics.StoreResourceVersion
	opts.Metrics.StoreResourceVersion = func(version string) {
		m.waiters.advance()
		if stored != nil {
			stored(version)
		}
	}
	// The informer's own ListerWatcher is never used.
	i := &Informer[T]{sharedinformer.New[T](listwatch.Funcs[T]{}, opts.Options), m, opts.Queue == sharedinformer.PerKey}
	for _, s := range sources {
		if err := i.AddSource(s); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// AddSource adds a source, before or while the informer runs. It does not wait for its list, whose objects are told
// as they come. A name that is taken is an error, as is a stopped informer.
func (i *Informer[T]) AddSource(s Source[T]) error {
	if err := i.merge.add(s); err != nil {
		return fmt.Errorf("informer %s: %w", i.Name(), err)
	}
	return nil
}

// RemoveSource ends a source. What no other source has is deleted at once. Its final state is unknown, unless another
// source has told of its end. RemoveSource does not wait for the source's goroutine. It reports whether there was such
// a source.
func (i *Informer[T]) RemoveSource(name string) bool { return i.merge.remove(name) }

// SourceStats are a moment of a source.
type SourceStats struct {
	Name string
	// ResourceVersion is up to where the source has been read, "" before its first list.
	ResourceVersion string
	// Objects is the number of objects that the source has.
	Objects int
	// LastError is the last error of a list or watch, nil once it works again.
	LastError error
	// Reflector counts lists, watches and their failures.
	Reflector reflector.Stats
}

// Sources returns the sources in the order in which they were added.
func (i *Informer[T]) Sources() []SourceStats { return i.merge.stats() }
