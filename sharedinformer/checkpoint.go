package sharedinformer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/klog/v2"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
	"glasswatch/reflector"
)

// DefaultCheckpointInterval is the default of CheckpointOptions.Interval. Servers remember some minutes of changes.
const DefaultCheckpointInterval = time.Minute

// acceptedAfter is how long a watch from a checkpoint lives before a silent server counts as one that accepts its version.
// Servers answer 200 to any version, and send what is wrong with it as the first event, at once.
const acceptedAfter = time.Second

// ErrNoCheckpoint: what Options ask for cannot be checkpointed. It comes wrapped with the reason.
var ErrNoCheckpoint = errors.New("no checkpoint is kept")

// CheckpointOptions say where an informer keeps its store between two runs of the program, and of what it is. The zero
// value keeps none. See "Checkpoints" in the package's documentation.
type CheckpointOptions struct {
	// Path is the file; "" keeps none. Its folder must exist; beside it, a ".tmp" of that name is used. Each informer needs
	// its own. It holds all objects and is readable by its owner only.
	Path string
	// Cluster tells the cluster from others, as [glasswatch/listwatch/resume.ClusterID] does. It must not be empty.
	Cluster string
	// Source is what is listed and watched: resource, namespace, selectors. "": what [glasswatch/listwatch/resume.SourceOf] says of the
	// ListerWatcher, which must not be empty then.
	Source string
	// TransformID names what Options.Transform does, and must be another whenever that does something else. It must not be
	// empty if there is a Transform, and counts only then.
	TransformID string
	// Interval is the least time between two writes of the file. 0 is DefaultCheckpointInterval. It is also written when the
	// informer stops, and only ever if the store has moved or there was a list.
	Interval time.Duration
}

// CheckpointStats are a moment of an informer's checkpoint.
type CheckpointStats struct {
	// Resumed is the resourceVersion that the store was filled with from the file; "" if it was not.
	Resumed string
	// Saved is the resourceVersion of the last write, SavedAt when it was and Saves how many there were in this run.
	Saved   string
	SavedAt time.Time
	Saves   uint64
	// Failures counts the writes that failed; Err is the last one's error, or why there is no checkpoint; nil after a
	// write.
	Failures uint64
	Err      error
}

// checkpointer keeps an informer's store in a file. A nil one does nothing.
//
//	file ─▶ load ─▶ restore ─▶ store, handlers            before the controller runs
//	                   └─▶ reflector: watch from there ─▶ goes on:  synced
//	                                                   └▶ refused:  list, synced
//	file ◀─ save ◀─ snapshot of the store                 each Interval, and at the end
type checkpointer[T object] struct {
	informer *Informer[T]
	opts     CheckpointOptions
	id       resume.Identity
	codec    objectCodec[T]
	loaded   atomic.Bool

	// What load found, until restore. Only Run's goroutine touches it, and then the reflector's.
	items []deltafifo.Item[key, T]
	// resumed is the version of items.
	resumed string
	// judged: the server has answered the watch from resumed, or refused it. fresh: it has answered, and no list followed.
	judged, fresh bool
	// alive fires when a watch has lasted for acceptedAfter. The reflector's goroutine starts and stops it.
	alive *time.Timer

	// listed: there was a list since the last write. It may be another state of the same version: see save.
	listed atomic.Bool
	// own: the next ReplacedAll to be processed is restore's or judge's.
	own atomic.Bool
	// accepted is closed by the consumer when something of the server is in the store.
	accepted chan struct{}
	settled  bool // accepted is closed; the consumer's

	mu    sync.Mutex // protects stats
	stats CheckpointStats
}

// newCheckpointer returns nil if no checkpoint is asked for. What is wrong is in its stats: then it does nothing.
func newCheckpointer[T object](i *Informer[T]) *checkpointer[T] {
	opts := i.opts.Checkpoint
	if opts.Path == "" {
		return nil
	}
	if opts.Interval <= 0 {
		opts.Interval = DefaultCheckpointInterval
	}
	if opts.Source == "" {
		opts.Source = resume.SourceOf(i.lw)
	}
	if i.opts.Transform == nil {
		opts.TransformID = ""
	}
	c := &checkpointer[T]{informer: i, opts: opts, accepted: make(chan struct{})}
	var err error
	c.codec, err = newObjectCodec[T]()
	switch {
	case err != nil:
	case i.opts.Queue == PerKey:
		err = ErrNoStoreVersion
	case opts.Cluster == "":
		err = errors.New("the cluster has no identity: set Checkpoint.Cluster")
	case opts.Source == "":
		err = fmt.Errorf("a %T does not say what it lists: set Checkpoint.Source", i.lw)
	case i.opts.Transform != nil && opts.TransformID == "":
		err = errors.New("the transform has no name: set Checkpoint.TransformID")
	}
	if err != nil {
		c.stats.Err = fmt.Errorf("informer %s: %w: %w", i.opts.Name, ErrNoCheckpoint, err)
		return c
	}
	c.id = resume.Identity{
		Kind: "informer", Cluster: opts.Cluster, Source: opts.Source, Type: c.codec.shape, Transform: opts.TransformID,
	}
	return c
}

// usable reports whether there is anything to do.
func (c *checkpointer[T]) usable() bool { return c != nil && c.id.Kind != "" }

// load reads the file. What is wrong with it is logged, and the informer starts as if there was none.
func (c *checkpointer[T]) load(ctx context.Context) {
	if c == nil || !c.loaded.CompareAndSwap(false, true) { // a second Run is the first one's failure
		return
	}
	logger := klog.FromContext(ctx)
	if c.informer.feed != nil { // known only now
		c.id = resume.Identity{}
		c.mu.Lock()
		c.stats.Err = fmt.Errorf("informer %s: %w: a store of many sources has many resourceVersions", c.informer.opts.Name, ErrNoCheckpoint)
		c.mu.Unlock()
	}
	if !c.usable() {
		logger.Error(c.Stats().Err, "Options do not allow a checkpoint", "informer", c.informer.opts.Name)
		return
	}
	frames, err := resume.Load(c.opts.Path, c.id)
	if err == nil {
		c.resumed, c.items, err = c.codec.decode(frames)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		logger.Info("No checkpoint yet, listing", "informer", c.informer.opts.Name, "path", c.opts.Path)
	case err != nil:
		c.resumed, c.items = "", nil
		logger.Info("Checkpoint not used, listing", "informer", c.informer.opts.Name, "path", c.opts.Path, "reason", err.Error())
	}
}

// prepare makes the reflector watch on from what load found.
func (c *checkpointer[T]) prepare(opts *reflector.Options) {
	if !c.usable() || c.resumed == "" {
		return
	}
	opts.ResumeFrom = c.resumed
	c.alive = time.NewTimer(acceptedAfter)
	c.alive.Stop()
	next := opts.OnTransition
	opts.OnTransition = func(from, to reflector.State) {
		c.judge(to)
		if next != nil {
			next(from, to)
		}
	}
}

// guarded returns what the reflector is to list and watch with.
func (c *checkpointer[T]) guarded(lw listwatch.ListerWatcher[T]) listwatch.ListerWatcher[T] {
	if !c.usable() || c.resumed == "" {
		return lw
	}
	return resume.RejectIfServerBehind(lw, c.resumed)
}

// restore fills the store and tells the handlers. The controller must not run yet: this is the consumer.
func (c *checkpointer[T]) restore() {
	if !c.usable() || c.resumed == "" {
		return
	}
	c.own.Store(true)
	all := deltafifo.Bulk[key, T]{ResourceVersion: c.resumed, Items: c.items}
	_ = c.informer.process([]delta[T]{{Type: deltafifo.ReplacedAll, Bulk: &all}}, true)
	c.informer.afterPop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Resumed, c.stats.Saved = c.resumed, c.resumed
}

// judge sees what the server makes of the version that was resumed from. The reflector calls it in Run's goroutine, before
// it acts on its state: no event was read yet when it first says Watching.
func (c *checkpointer[T]) judge(to reflector.State) {
	i := c.informer
	c.alive.Stop()
	switch to {
	case reflector.Watching:
		c.alive.Reset(acceptedAfter)
		if c.judged {
			return
		}
		// The list that was not needed: all that was restored is there. It makes the queue synced, and is in order with
		// the events that follow.
		keys := make([]key, len(c.items))
		for n := range c.items {
			keys[n] = c.items[n].Key
		}
		c.judged, c.fresh, c.items = true, true, nil
		c.own.Store(true)
		_ = i.queue.Replace(nil, keys, c.resumed) // without objects there is none without a key
	case reflector.ListingStreaming, reflector.ListingPaged:
		stats := i.running.Load().reflector.Stats()
		if !c.judged || c.fresh && stats.Events+stats.Bookmarks == 0 {
			reason := ""
			if err := i.LastError(); err != nil {
				reason = err.Error()
			}
			klog.FromContext(i.runCtx).Info("Server does not watch on from the checkpoint, listing",
				"informer", i.opts.Name, "resourceVersion", c.resumed, "reason", reason)
		}
		c.judged, c.fresh, c.items = true, false, nil
	}
}

// processed tells of a batch that is in the store. The server has sent it, unless it is own or a resync: so it
// goes on from resumed, or the store has its list.
func (c *checkpointer[T]) processed(batch []delta[T]) {
	if !c.usable() {
		return
	}
	if batch[0].Type == deltafifo.ReplacedAll {
		if c.own.Swap(false) {
			return
		}
		c.listed.Store(true)
	}
	if c.settled || c.resumed == "" || batch[0].Type == deltafifo.SyncAll {
		return
	}
	c.settled = true
	close(c.accepted)
}

// await blocks until the server goes on from resumed, or the store has its list. It returns false if ctx ends first.
func (c *checkpointer[T]) await(ctx context.Context) bool {
	if !c.usable() || c.resumed == "" {
		return true
	}
	select {
	case <-c.accepted:
		return true
	case <-c.alive.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// keep saves each Interval until ctx ends.
func (c *checkpointer[T]) keep(ctx context.Context) {
	if !c.usable() {
		return
	}
	tick := time.NewTicker(c.opts.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.save(ctx)
		}
	}
}

// save writes the file if the store has moved, or was listed: a server that was set back may have come to the version of the
// file by another way. Whatever goes wrong, the file from before stays, and the informer goes on.
func (c *checkpointer[T]) save(ctx context.Context) {
	if !c.usable() {
		return
	}
	listed := c.listed.Swap(false) // before the snapshot, which has that list then
	snapshot := c.informer.store.Snapshot()
	version := snapshot.ResourceVersion()
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil || version == c.Stats().Saved && !listed {
		return
	}
	// After the snapshot: what was left out before it is known by now.
	err := error(nil)
	if c.informer.leftOut.Load() {
		err = fmt.Errorf("%w: an object was left out, and a watch from here on would not bring it", ErrNoCheckpoint)
	} else {
		err = resume.Save(c.opts.Path, c.id, func(w *resume.Writer) error {
			return c.codec.encode(w, version, snapshot.Len(), snapshot.All())
		})
	}
	c.mu.Lock()
	repeated := err != nil && c.stats.Err != nil && c.stats.Err.Error() == err.Error()
	c.stats.Err = err
	if err != nil {
		c.stats.Failures++
		if listed {
			c.listed.Store(true)
		}
	} else {
		c.stats.Saves++
		c.stats.Saved, c.stats.SavedAt = version, time.Now()
	}
	c.mu.Unlock()
	if err != nil && !repeated {
		klog.FromContext(ctx).Error(err, "Checkpoint not written", "informer", c.informer.opts.Name, "path", c.opts.Path)
	}
}

// Stats returns the numbers of this moment.
func (c *checkpointer[T]) Stats() CheckpointStats {
	if c == nil {
		return CheckpointStats{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}
