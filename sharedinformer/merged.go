package sharedinformer

import (
	"fmt"
	"time"

	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// DefaultMoveGrace is the default of [MergedOptions].MoveGrace.
const DefaultMoveGrace = time.Second

// Source is one of the lists that a MergedInformer puts together: a namespace, or a selector, of its resource.
type Source[T listwatch.Object] struct {
	// Name is for errors and statistics, and unique in its informer.
	Name string
	// ListerWatcher lists and watches this source only.
	ListerWatcher listwatch.ListerWatcher[T]
	// Namespace, if not empty, says that all its objects are in that namespace. Sources of different namespaces share no
	// object, so that a deletion in one need not wait for what the others say.
	Namespace string
}

// MergedOptions of a MergedInformer. The zero value is useful.
type MergedOptions[T listwatch.Object] struct {
	// Options are the informer's. All sources' reflectors use Options.Reflector, whose functions are called from as many
	// goroutines; its ResumeFrom is ignored.
	Options[T]
	// MoveGrace is how long the deletion of an object that only one source had waits for the other sources that might have it
	// to reach its version. An object that left one selector for another is then one update. A source reaches a version with
	// an event or a bookmark. Zero: DefaultMoveGrace; negative: no wait.
	MoveGrace time.Duration
}

// MergedInformer is an Informer on many sources of one resource, namespaces or selectors, with one store.
//
//	source a ─▶ reflector ─┐
//	source b ─▶ reflector ─┼─▶ merge ─▶ queue ─▶ store and handlers, as in any Informer
//	source c ─▶ reflector ─┘
//
// The merge knows, for each object, which sources have it and in what version, and where each source stands. As all of them
// are of one resource, their versions compare, and so:
//
//   - The newest version wins, and is told once. A version never goes back while the object is there, unless every source
//     that has it shows that the server was set back.
//   - An object goes when no source has it. A list of one source takes away nothing that another has.
//   - A deletion at version d makes older versions of that object doubtful, as whoever still has one will hear of version d, too:
//     an object that is shown stays so until its sources have spoken, and a late event brings nobody back.
//   - An object that leaves one source and enters another is an update, in whatever order the two say so: see
//     [MergedOptions].MoveGrace.
//   - An object with another UID is a deletion and an add.
//
// It has synced once every source has listed. What came until then is one list; a source that cannot list keeps the others
// waiting and is named by WaitForSync's error. The store's resourceVersion is the lowest that the sources have reached; it
// moves with bookmarks and lists, or at once if somebody waits for it.
//
// Versions that do not compare (see apimachinery's resourceversion) count in their order of arrival, and nothing waits.
//
// What was shown of a source that was removed hides older versions of the other sources until they have come to that one: they may
// yet tell of it, or of the object's end, for which the grace counts if they had it.
//
// A source that lists for the first time from a watch cache that lags may show again, until its watch comes to it, what another
// source has told the end of, or what was shown of a source that was removed. The merge costs some 200 bytes an object, and
// remembers the version of a deletion, or the one shown of a removed source's object, until the sources that might have had the
// object are past it: while one of them is out of order, each key that the others lose costs as much.
//
// After the server was set back, an object that its source had last told of in a version older than the one shown stays as it is until
// the source tells of it again; and what a source showed that was removed before the others knew is waited for until the server
// has come as far again.
//
// Besides that everything said of [Informer] holds, but for three things. A relist says nothing of objects whose version has
// not changed. The time to the next look for resyncs does not begin anew with a list. And the merge's lock, which sources,
// statistics, errors and versions are under, is held during a Transform and while the merge waits for a Trace to return:
// neither may call the informer.
type MergedInformer[T listwatch.Object] struct {
	*Informer[T]
	merge *merge[T]
}

// NewMerged returns an informer on sources, which lists and watches nothing before Run. There may be none: it then syncs at
// once, and sources are added later. Two sources of one name, and one without a ListerWatcher, are an error.
func NewMerged[T listwatch.Object](sources []Source[T], opts MergedOptions[T]) (*MergedInformer[T], error) {
	// The informer's own reflector is never run.
	own := opts.Options
	i := New[T](listwatch.Funcs[T]{}, own)
	i.applier.inOrder = false // versions come from many watches: the merge says how far the store has come
	if opts.MoveGrace == 0 {
		opts.MoveGrace = DefaultMoveGrace
	}
	m := newMerge[T](opts.MoveGrace)
	i.feed = m.attach
	i.noteErrors, m.report = true, i.reportFailed
	m.wanted = func() bool { return i.versions.count.Load() > 0 }
	i.versions.entered = m.wake
	for _, s := range sources {
		if err := m.add(s); err != nil {
			return nil, fmt.Errorf("informer %s: %w", i.opts.Name, err)
		}
	}
	return &MergedInformer[T]{Informer: i, merge: m}, nil
}

// AddSource adds a source, before or while the informer runs. It does not wait for its list, whose objects are told as they
// come. A name that is taken is an error, as is a stopped informer.
func (i *MergedInformer[T]) AddSource(s Source[T]) error {
	if i.Stopped() {
		return fmt.Errorf("informer %s: source %q not added: %w", i.opts.Name, s.Name, ErrStopped)
	}
	if err := i.merge.add(s); err != nil {
		return fmt.Errorf("informer %s: %w", i.opts.Name, err)
	}
	return nil
}

// RemoveSource ends a source: what no other source has is deleted, with its final state unknown. It does not wait for the
// source's goroutine. It reports whether there was such a source.
func (i *MergedInformer[T]) RemoveSource(name string) bool { return i.merge.remove(name) }

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
func (i *MergedInformer[T]) Sources() []SourceStats { return i.merge.stats() }
