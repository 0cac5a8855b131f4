package shards

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

var (
	// ErrAlreadyRun is returned by a second call of [Member.Run].
	ErrAlreadyRun = errors.New("shards: member was run before")
	// ErrDuplicate is returned by [Member.Run] if another process renews the Lease of the same identity. It is wrapped
	// in an error that says what to do.
	ErrDuplicate = errors.New("shards: two members of one name")
	// ErrNotHeld is the cause with which a reconcile's context ends when its member loses the shard.
	ErrNotHeld = errors.New("shards: the shard is not held by this member")
)

// Member is one process's part in a group that shares the work. Make it with [New]. Its methods are safe for concurrent
// use.
type Member struct {
	opts     Options
	leases   coordinationv1client.LeaseInterface
	informer *sharedinformer.Informer[*coordinationv1.Lease]
	ran      atomic.Bool
	decideCh chan struct{} // capacity 1: something has changed that decisions depend on
	renewCh  chan struct{} // capacity 1: renew before it is time
	writes   chan struct{} // a token for each Lease that is being written, beside the member's own
	writing  sync.WaitGroup
	renewal  // used by renewLoop only

	mu       sync.Mutex // guards all below; never held during a request
	term     string     // the holderIdentity that this process writes; another one after it was lost
	deadline time.Time  // until when it may work; zero before it has joined
	expiry   *time.Timer
	own      *coordinationv1.Lease // the member's Lease, as the last answer had it
	// leaving: no shard is to be taken any more. handedOver: none is left that another could have.
	leaving, handedOver bool
	shards              []shard
	held, pins          int                  // of all shards
	owners, ownersOf    []string             // what Assign has said, of which members
	gained, lost        []int                // not yet told to OnChange
	seen                map[string]sighting  // by identity
	absent              map[string]time.Time // terms that fences name and whose Leases are gone, and since when
	attempts            map[string]attempt   // by Lease
	failures            map[string]error     // the last errors of "watch", "renew" and "write", until the next success
}

// New returns a member, which does nothing before Run. The client should not limit its rate below some dozens of
// requests a second: a member that gets many shards writes one Lease for each.
func New(client coordinationv1client.LeasesGetter, opts Options) (*Member, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	m := &Member{
		opts: opts, leases: client.Leases(opts.Namespace), term: newTerm(opts.Identity),
		decideCh: make(chan struct{}, 1), renewCh: make(chan struct{}, 1), writes: make(chan struct{}, parallelWrites),
		shards: make([]shard, opts.Shards), seen: map[string]sighting{}, absent: map[string]time.Time{},
		attempts: map[string]attempt{}, failures: map[string]error{},
	}
	only := groupLabel + "=" + opts.Name
	lw := listwatch.Funcs[*coordinationv1.Lease]{
		ListFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = only
			return m.leases.List(ctx, o)
		},
		WatchFunc: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = only
			return m.leases.Watch(ctx, o)
		},
	}
	m.informer = sharedinformer.New[*coordinationv1.Lease](lw, sharedinformer.Options[*coordinationv1.Lease]{
		Name:              "shards of " + opts.Name,
		WatchErrorHandler: func(ctx context.Context, err error) { m.failed(ctx, "watch", err) },
		Reflector:         reflector.Options{Backoff: reflector.Backoff{Max: opts.RenewEvery}},
	})
	_, err := m.informer.AddHandler(sharedinformer.HandlerFuncs[*coordinationv1.Lease]{
		AddFunc:    func(l *coordinationv1.Lease, _ bool) { m.changed(l) },
		UpdateFunc: func(_, l *coordinationv1.Lease) { m.changed(l) },
		DeleteFunc: func(sharedinformer.Deletion[*coordinationv1.Lease]) { wake(m.decideCh) },
	}, sharedinformer.HandlerOptions{})
	return m, err
}

// Run takes part until ctx ends, and then leaves: running reconciles finish, and each shard is handed over as soon as
// its own have. Run returns when no reconcile and no goroutine is left. The error is nil, [ErrAlreadyRun], or wraps
// [ErrDuplicate].
func (m *Member) Run(ctx context.Context) error {
	if !m.ran.CompareAndSwap(false, true) {
		return ErrAlreadyRun
	}
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "shards", m.opts.Name, "identity", m.opts.Identity)
	running, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logger))
	defer stop()
	var loops sync.WaitGroup
	refused := make(chan error, 1)
	loops.Go(func() { _ = m.informer.Run(running) })
	loops.Go(func() { m.decideLoop(running) })
	loops.Go(func() { refused <- m.renewLoop(running) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-refused:
	}
	m.handOver()
	stop()
	loops.Wait()
	m.writing.Wait()
	m.end(context.WithoutCancel(running))
	return err
}

// Ready returns nil while the member's Lease is valid and the group's are watched, whether or not it holds a shard.
// Otherwise the error says what is in the way, and for a missing right what to grant.
func (m *Member) Ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	valid, synced := time.Now().Before(m.deadline), m.informer.HasSynced()
	for _, what := range []string{"watch", "renew", "write"} {
		if err := m.failures[what]; err != nil && (!valid || !synced || what == "write") {
			return err
		}
	}
	if !valid || !synced {
		return fmt.Errorf("shards: member %s has not joined yet", m.opts.Identity)
	}
	return nil
}

// failed logs an error and remembers it for Ready. Conflicts are part of the work. Of writes to others' Leases only a
// missing right counts: they are tried again.
func (m *Member) failed(ctx context.Context, what string, err error) {
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("shards: grant get, list, watch, create, update and delete on leases.coordination.k8s.io in "+
			"namespace %s: %w", m.opts.Namespace, err)
	} else if what == "write" || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		err = nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures[what] = err
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Could not "+what+" a Lease")
	}
}

// wake puts a token into ch, unless one is there.
func wake(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
