package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"time"

	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
	"glasswatch/sharedinformer"
)

// DefaultInterval is the default of Options.Interval. Servers remember some minutes of changes.
const DefaultInterval = time.Minute

// ErrNoCheckpoint: nothing can be kept, or not any more. It comes wrapped with the reason.
var ErrNoCheckpoint = errors.New("no checkpoint is kept")

// Options say where an informer keeps its store between two runs of the program, and of what it is.
type Options struct {
	// Path is the file; it must not be empty. Its folder must exist; beside it, a ".tmp" of that name is used. Each
	// informer needs its own. It holds all objects and is readable by its owner only.
	Path string
	// Cluster tells the cluster from others, as [resume.ClusterID] does. It must not be empty.
	Cluster string
	// Source is what is listed and watched: resource, namespace, selectors. "": what [resume.SourceOf] says of the
	// ListerWatcher, which must not be empty then.
	Source string
	// TransformID names what the informer's Transform does, and must be another whenever that does something else. It
	// must not be empty if there is a Transform, and counts only then.
	TransformID string
	// Interval is the least time between two writes of the file. 0 is DefaultInterval. It is also written when the
	// informer stops, and only ever if the store has moved or there was a list.
	Interval time.Duration
}

// Stats are a moment of an informer's checkpoint.
type Stats struct {
	// Resumed is the resourceVersion that the store was filled with from the file; "" if it was not.
	Resumed string
	// Saved is the resourceVersion of the last write, SavedAt when it was and Saves how many there were in this run.
	Saved   string
	SavedAt time.Time
	Saves   uint64
	// Failures counts the writes that failed. Err is the last one's error; nil after a write.
	Failures uint64
	Err      error
}

// Informer is a shared informer with a checkpoint. Its Run reads the file and writes it.
type Informer[T listwatch.Object] struct {
	*sharedinformer.Informer[T]
	keeper *keeper[T]
}

// New returns an informer on lw with a checkpoint in a file. Nothing is read or asked for before Run. The error is an
// ErrNoCheckpoint: something is missing in the options, or the informer's do not go together with a checkpoint. Of
// opts, Feed and SyncGate must be nil, and Queue must be InOrder.
func New[T listwatch.Object](
	lw listwatch.ListerWatcher[T], opts sharedinformer.Options[T], file Options,
) (*Informer[T], error) {
	file.Interval = cmp.Or(max(file.Interval, 0), DefaultInterval)
	file.Source = cmp.Or(file.Source, resume.SourceOf(lw))
	if opts.Transform == nil {
		file.TransformID = ""
	}
	codec, err := newObjectCodec[T]()
	if err = errors.Join(err, check(lw, opts, file)); err != nil {
		name := cmp.Or(opts.Name, reflect.TypeFor[T]().String())
		return nil, fmt.Errorf("informer %s: %w: %w", name, ErrNoCheckpoint, err)
	}
	k := &keeper[T]{opts: file, codec: codec, agreed: make(chan struct{})}
	k.id = resume.Identity{
		Kind: "informer", Cluster: file.Cluster, Source: file.Source, Type: codec.shape, Transform: file.TransformID,
	}
	k.attach(&opts)
	k.informer = sharedinformer.New(lw, opts)
	return &Informer[T]{k.informer, k}, nil
}

// check says what is missing, or does not go together.
func check[T listwatch.Object](lw listwatch.ListerWatcher[T], opts sharedinformer.Options[T], file Options) error {
	switch {
	case file.Path == "":
		return errors.New("there is no file: set Path")
	case file.Cluster == "":
		return errors.New("the cluster has no identity: set Cluster")
	case file.Source == "":
		return fmt.Errorf("a %T does not say what it lists: set Source", lw)
	case opts.Transform != nil && file.TransformID == "":
		return errors.New("the transform has no name: set TransformID")
	case opts.Queue == sharedinformer.PerKey:
		return sharedinformer.ErrNoStoreVersion
	case opts.Feed != nil || opts.SyncGate != nil:
		return errors.New("the checkpoint sets Feed and SyncGate itself")
	}
	return nil
}

// Checkpoint returns the numbers of this moment.
func (i *Informer[T]) Checkpoint() Stats {
	i.keeper.mu.Lock()
	defer i.keeper.mu.Unlock()
	return i.keeper.stats
}
