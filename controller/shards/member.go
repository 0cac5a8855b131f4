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

// ErrAlreadyRun is returned by a second call of [Member.Run].
var ErrAlreadyRun = errors.New("shards: member was run before")

// ErrDuplicate is returned by [Member.Run] if another process renews the Lease of the same identity. It is wrapped in an
// error that says what to do.
var ErrDuplicate = errors.New("shards: two members of one name")

// ErrNotHeld is the cause with which a reconcile's context ends when the member lost the shard, and the answer of
// [Member.Do] for a shard that it does not hold.
var ErrNotHeld = errors.New("shards: the shard is not held by this member")

// Member is one process's part in a group that shares the work. Make it with [New]. Its methods are safe for concurrent
// use.
type Member struct {
	opts     Options
	leases   coordinationv1client.LeaseInterface
	informer *sharedinformer.Informer[*coordinationv1.Lease]
	ran      atomic.Bool
	decideCh chan struct{} // capacity 1: something has changed that decisions depend on
	renewCh  chan struct{} // capacity 1: renew before it is time
	leftCh   chan struct{} // capacity 1: hasLeft may have changed
	writes   chan struct{} // a token for each write of a fence that may be on its way
	writing  sync.WaitGroup
	assigned assignment // used by decide only

	renewal // used by renewLoop only

	mu       sync.Mutex // guards all below; never held during a request
	term     string     // the holderIdentity that this process writes; another one after it was lost
	deadline time.Time  // until when it may work; zero before it has joined
	expiry   *time.Timer
	own      *coordinationv1.Lease // the member's Lease, as the last answer had it
	// leaving: no shard is to be taken any more. handedOver: none is left that another could have.
	leaving, handedOver bool
	shards              []shard
	held, pins          int                  // of all shards
	gained, lost        []int                // not yet told to OnChange
	seen                map[string]sighting  // by identity
	absent              map[string]time.Time // terms that fences name and whose Leases are gone, and since when
	attempts            map[string]attempt   // by Lease
	failures            map[string]error     // the last errors of "watch", "renew" and "write", until the next success
}

// New returns a member, which does nothing before Run. The client should not limit its rate below some dozens of
// requests a second: a member that gets many shards writes one Lease for each.
func New(client coordinationv1client.LeasesGetter, opts Options) (*Member, error) {
	opts.setDefaults()
	if err := opts.check(); err != nil {
		return nil, err
	}
	m := &Member{
		opts: opts, leases: client.Leases(opts.Namespace), term: newTerm(opts.Identity),
		decideCh: make(chan struct{}, 1), renewCh: make(chan struct{}, 1), leftCh: make(chan struct{}, 1),
		writes: make(chan struct{}, parallelWrites), shards: make([]shard, opts.Shards),
		seen: map[string]sighting{}, absent: map[string]time.Time{}, attempts: map[string]attempt{}, failures: map[string]error{},
	}
	m.informer = sharedinformer.New[*coordinationv1.Lease](m.source(), sharedinformer.Options[*coordinationv1.Lease]{
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

// source lists and watches the group's Leases.
func (m *Member) source() listwatch.ListerWatcher[*coordinationv1.Lease] {
	narrow := func(opts metav1.ListOptions) metav1.ListOptions {
		opts.LabelSelector = groupLabel + "=" + m.opts.Name
		return opts
	}
	return listwatch.Funcs[*coordinationv1.Lease]{
		ListFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return m.leases.List(ctx, narrow(opts))
		},
		WatchFunc: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return m.leases.Watch(ctx, narrow(opts))
		},
	}
}

// Run takes part until ctx ends, and then leaves: running reconciles finish, and each shard is handed over as soon as
// the last of its own has. Reconciles that last longer than LeaseDuration are cancelled. Run returns when none is left
// and every goroutine has ended. The error is nil, or wraps [ErrDuplicate], or is [ErrAlreadyRun].
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
	m.leave(running)
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
	synced := m.informer.HasSynced()
	switch {
	case !synced && m.failures["watch"] != nil:
		return m.failures["watch"]
	case !synced:
		return errors.New("shards: the Leases were not listed yet")
	case time.Now().Before(m.deadline):
		return m.failures["write"]
	case m.failures["renew"] != nil:
		return m.failures["renew"]
	}
	return fmt.Errorf("shards: no valid Lease %s", memberName(m.opts.Name, m.opts.Identity))
}

// failed remembers an error for Ready, and logs it. Conflicts are part of the work. Writes of fences are tried again, and
// that they did not get through once does not make a member unready.
func (m *Member) failed(ctx context.Context, what string, err error) {
	switch {
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("shards: grant get, list, watch, create, update and delete on leases.coordination.k8s.io in "+
			"namespace %s: %w", m.opts.Namespace, err)
	case what == "write" || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err):
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
