package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
	"glasswatch/observe"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

// acceptedAfter is how long a watch from a checkpoint lives before a silent server counts as one that accepts its
// version. Servers answer 200 to any version, and send what is wrong with it as the first event, at once.
const acceptedAfter = time.Second

// keeper is the Feeder of an informer with a checkpoint: a reflector, with the file before and after it.
type keeper[T listwatch.Object] struct {
	informer *sharedinformer.Informer[T]
	opts     Options
	id       resume.Identity
	codec    objectCodec[T]

	// The informer's, from feed on.
	lw            listwatch.ListerWatcher[T]
	queue         sharedinformer.Queue[T]
	reflectorOpts reflector.Options

	reflector atomic.Pointer[reflector.Reflector[T]] // one that never runs before the file was read

	agreed   chan struct{} // the informer's SyncGate; closed by agree
	isAgreed atomic.Bool

	restoring atomic.Bool // the queue is being filled from the file
	restored  atomic.Bool // the store has what the file had: what comes now is the server's
	leftOut   atomic.Bool // an object could not be read or transformed, or a hook has panicked
	moved     atomic.Bool // the store is another one than the file's

	// The consumer's: objects were written since the last call of stored, and the version that it was told.
	written bool
	reached string

	mu    sync.Mutex // protects stats
	stats Stats
}

// attach sets the hooks of an informer's options.
func (k *keeper[T]) attach(opts *sharedinformer.Options[T]) {
	opts.Feed = k.feed
	opts.SyncGate = k.agreed
	if transform := opts.Transform; transform != nil {
		opts.Transform = func(obj T) (out T, err error) {
			if k.restoring.Load() { // it was transformed before it was saved
				return obj, nil
			}
			ok := false
			defer k.noteUnless(&ok)
			out, err = transform(obj)
			ok = err == nil
			return out, err
		}
	}
	if look := opts.Observe; look != nil {
		opts.Observe = func(seen []observe.Observation[listwatch.Key]) {
			ok := false
			defer k.noteUnless(&ok)
			look(seen)
			ok = true
		}
	}
	announce := opts.BeforeStore
	opts.BeforeStore = func(key listwatch.Key, obj listwatch.Object) {
		ok := false
		defer k.noteUnless(&ok)
		k.written = true
		if announce != nil {
			announce(key, obj)
		}
		ok = true
	}
	measure := opts.Metrics.StoreResourceVersion
	opts.Metrics.StoreResourceVersion = func(version string) {
		k.stored(version)
		if measure != nil {
			measure(version)
		}
	}
}

// noteUnless is deferred around a hook, and notes that an object may be missing in the store unless ok is set. ok is not
// set if the hook panics: the informer then goes on without the batch, if the program lives.
func (k *keeper[T]) noteUnless(ok *bool) {
	if !*ok {
		k.leftOut.Store(true)
	}
}

// stored is called by the consumer when something is in the store that leads up to version. The same version may come
// with other objects: by a list from a server that was set back.
func (k *keeper[T]) stored(version string) {
	if k.written || version != k.reached {
		k.moved.Store(true)
	}
	k.written, k.reached = false, version
	if k.restored.Load() {
		k.agree()
	}
}

// agree opens the gate before "synced".
func (k *keeper[T]) agree() {
	if !k.isAgreed.Swap(true) {
		close(k.agreed)
	}
}

func (k *keeper[T]) feed(
	lw listwatch.ListerWatcher[T], queue sharedinformer.Queue[T], opts reflector.Options,
) sharedinformer.Feeder {
	k.lw = lw
	k.queue = queue
	k.reflectorOpts = opts
	k.reflector.Store(reflector.New(lw, reflector.Sink[T](queue), opts))
	return k
}

// Run is the life of a checkpoint: load, restore, watch on, and save now and then.
func (k *keeper[T]) Run(ctx context.Context) {
	lw := k.lw
	opts := k.reflectorOpts
	switch version, objs := k.load(ctx); {
	case version == "":
		k.agree() // the first list will do
	case k.restore(ctx, version, objs):
		opts.ResumeFrom = version
		lw = resume.RejectIfServerBehind(lw, version)
		defer k.judge(ctx, &opts).Stop()
	case ctx.Err() != nil:
		return
	}
	report := opts.OnError
	opts.OnError = func(ctx context.Context, err error) {
		var unreadable *listwatch.ObjectError
		if errors.As(err, &unreadable) {
			k.leftOut.Store(true)
		}
		report(ctx, err)
	}
	r := reflector.New(lw, reflector.Sink[T](k.queue), opts)
	k.reflector.Store(r)
	var saving sync.WaitGroup
	saving.Go(func() { k.saveNowAndThen(ctx) })
	r.Run(ctx)
	saving.Wait()
	k.save(ctx)
}

// load reads the file. If there is none of use, version is "".
func (k *keeper[T]) load(ctx context.Context) (version string, objs []T) {
	frames, err := resume.Load(k.opts.Path, k.id)
	if err == nil {
		version, objs, err = k.codec.decode(frames)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		klog.FromContext(ctx).Info("No checkpoint yet, listing", "informer", k.reflectorOpts.Name, "path", k.opts.Path)
	case err != nil:
		k.logNotUsed(ctx, err.Error())
	}
	return version, objs
}

func (k *keeper[T]) logNotUsed(ctx context.Context, reason string) {
	klog.FromContext(ctx).Info("Checkpoint not used, listing",
		"informer", k.reflectorOpts.Name, "path", k.opts.Path, "reason", reason)
}

// restore fills the store with what was loaded. It returns false if ctx ends first, or if a hook panics and the store
// does not get it. What the queue gives from then on is the server's in either case.
func (k *keeper[T]) restore(ctx context.Context, version string, objs []T) bool {
	k.restoring.Store(true)
	_ = k.queue.Replace(objs, nil, version) // each has a name: decode has seen to that
	k.restoring.Store(false)
	select {
	case <-k.queue.Synced(): // after the call of stored
	case <-ctx.Done():
		return false
	}
	k.restored.Store(true)
	if k.informer.Store().ResourceVersion() != version {
		k.logNotUsed(ctx, "a hook has panicked, so the store does not have its objects")
		return false
	}
	k.moved.Store(false)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stats.Resumed, k.stats.Saved = version, version
	return true
}

// judge has the reflector tell what the server makes of the file's version. The timer that it returns opens the gate
// when a watch has lasted for acceptedAfter; if a list takes the file's place, stored does, once that is in the store.
func (k *keeper[T]) judge(ctx context.Context, opts *reflector.Options) *time.Timer {
	quiet := time.AfterFunc(acceptedAfter, k.agree)
	quiet.Stop()
	from, next, refused := opts.ResumeFrom, opts.OnTransition, false
	opts.OnTransition = func(left, entered reflector.State) {
		quiet.Stop()
		switch {
		case k.isAgreed.Load() || refused:
		case entered == reflector.Watching:
			quiet.Reset(acceptedAfter)
		case entered == reflector.ListingStreaming || entered == reflector.ListingPaged:
			refused = true
			klog.FromContext(ctx).Info("Server does not watch on from the checkpoint, listing",
				"informer", k.reflectorOpts.Name, "resourceVersion", from, "reason", fmt.Sprint(k.LastError()))
		}
		if next != nil {
			next(left, entered)
		}
	}
	return quiet
}

// saveNowAndThen saves each Interval until ctx ends.
func (k *keeper[T]) saveNowAndThen(ctx context.Context) {
	tick := time.NewTicker(k.opts.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.save(ctx)
		}
	}
}

// save writes the file if the store has moved. If that fails, the file of before stays, and the informer goes on.
func (k *keeper[T]) save(ctx context.Context) {
	if !k.moved.Swap(false) { // before the snapshot, which has what moved then
		return
	}
	snapshot := k.informer.Store().Snapshot()
	version := snapshot.ResourceVersion()
	if err := rv.Check(version); err != nil {
		return // not a version that a watch can begin at
	}
	err := fmt.Errorf("%w: an object was left out, or a hook has panicked, and a watch from here on would not bring "+
		"what is missing", ErrNoCheckpoint)
	if !k.leftOut.Load() { // after the snapshot: it is known by now what is missing there
		err = resume.Save(k.opts.Path, k.id, func(write func(frame []byte)) error {
			return k.codec.encode(write, version, snapshot.Len(), snapshot.All())
		})
	}
	k.mu.Lock()
	before := k.stats.Err
	k.stats.Err = err
	if err == nil {
		k.stats.Saves++
		k.stats.Saved, k.stats.SavedAt = version, time.Now()
	} else {
		k.stats.Failures++
		k.moved.Store(true)
	}
	k.mu.Unlock()
	if err != nil && fmt.Sprint(err) != fmt.Sprint(before) { // the same failure is logged once
		klog.FromContext(ctx).Error(err, "Checkpoint not written", "informer", k.reflectorOpts.Name, "path", k.opts.Path)
	}
}

// LastSyncResourceVersion, LastError and Stats are the reflector's.
func (k *keeper[T]) LastSyncResourceVersion() string {
	return k.reflector.Load().LastSyncResourceVersion()
}
func (k *keeper[T]) LastError() error       { return k.reflector.Load().LastError() }
func (k *keeper[T]) Stats() reflector.Stats { return k.reflector.Load().Stats() }
