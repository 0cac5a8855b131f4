package shards

import (
	"cmp"
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
	told     []int         // by shard: the gain that OnChange was told of, 0 for none; used by decideLoop only

	mu       sync.Mutex // guards all below; never held during a request
	idle     *sync.Cond // a shard that was lost has no more reconciles
	leaving  bool
	term     string    // the holderIdentity that this process has written; empty before it has joined
	joined   uint64    // the version of its Lease that brought the term
	deadline time.Time // until when it may work; zero before it has joined
	shards   []shard

	seen               map[string]sighting // by identity
	rivals             int                 // how often another process was seen to renew the Lease of this identity
	owners, ownersOf   []string            // what Assign has said, of which members
	renewErr, writeErr error               // the last, until the next success
}

// New returns a member, which does nothing before Run. The client should not limit its rate below some dozens of
// requests a second: a member that gets many shards writes one Lease for each.
func New(client coordinationv1client.LeasesGetter, opts Options) (*Member, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	m := &Member{
		opts: opts, leases: client.Leases(opts.Namespace),
		decideCh: make(chan struct{}, 1), renewCh: make(chan struct{}, 1),
		shards: make([]shard, opts.Shards), told: make([]int, opts.Shards), seen: map[string]sighting{},
	}
	m.idle = sync.NewCond(&m.mu)
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
		Name:      "shards of " + opts.Name,
		Reflector: reflector.Options{Backoff: reflector.Backoff{Max: opts.RenewEvery()}},
	})
	_, err := m.informer.AddHandler(sharedinformer.HandlerFuncs[*coordinationv1.Lease]{
		AddFunc:    func(l *coordinationv1.Lease, _ bool) { m.changed(l) },
		UpdateFunc: func(_, l *coordinationv1.Lease) { m.changed(l) },
		DeleteFunc: func(sharedinformer.Deletion[*coordinationv1.Lease]) { wake(m.decideCh) },
	}, sharedinformer.HandlerOptions{})
	return m, err
}

// Run takes part until ctx ends, and then leaves: running reconciles finish, and then the others can have the shards.
// Run returns when no reconcile and no goroutine is left. The error is nil, [ErrAlreadyRun], or wraps [ErrDuplicate].
func (m *Member) Run(ctx context.Context) error {
	if !m.ran.CompareAndSwap(false, true) {
		return ErrAlreadyRun
	}
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "shards", m.opts.Name, "identity", m.opts.Identity)
	lasting := klog.NewContext(context.WithoutCancel(ctx), logger)
	running, stop := context.WithCancel(lasting)
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
	m.mu.Lock()
	m.leaving = true
	for m.dropLocked(m.opts.StopWithin()); m.busyLocked(); {
		m.idle.Wait()
	}
	m.mu.Unlock()
	stop()
	loops.Wait()
	if m.term != "" {
		m.end(lasting)
	}
	return err
}

// Ready returns nil while the member's Lease is valid and the group's are watched, whether or not it holds a shard.
// Otherwise the error says what is in the way, and for a missing right what to grant.
func (m *Member) Ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Now().Before(m.deadline) && m.informer.HasSynced() {
		return m.writeErr
	}
	return cmp.Or(m.explain(m.informer.LastError()), m.renewErr, m.writeErr,
		fmt.Errorf("shards: member %s has not joined yet", m.opts.Identity))
}

// failed remembers a request's error for Ready, and logs it. That another was first is part of the work.
func (m *Member) failed(ctx context.Context, last *error, err error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		err = nil
	}
	err = m.explain(err)
	m.mu.Lock()
	defer m.mu.Unlock()
	if *last = err; err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Could not write a Lease")
	}
}

func (m *Member) explain(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("shards: grant get, list, watch, create, update and delete on leases.coordination.k8s.io in "+
			"namespace %s: %w", m.opts.Namespace, err)
	}
	return err
}

func (m *Member) key() listwatch.Key {
	return listwatch.Key{Namespace: m.opts.Namespace, Name: memberName(m.opts.Name, m.opts.Identity)}
}

// wake puts a token into ch, unless one is there.
func wake(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
