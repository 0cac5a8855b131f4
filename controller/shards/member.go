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
	"k8s.io/utils/ptr"

	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

// Errors of [Member.Run]. The second is wrapped in one that says what to do.
var (
	ErrAlreadyRun = errors.New("shards: member was run before")
	ErrDuplicate  = errors.New("shards: two members of one name")
)

// Member is one process's part in a group that shares the work. Make it with [New]. Its methods are safe for concurrent
// use.
type Member struct {
	opts     Options
	leases   coordinationv1client.LeaseInterface
	informer *sharedinformer.Informer[*coordinationv1.Lease]
	ran      atomic.Bool
	name     string        // of its Lease
	decideCh chan struct{} // capacity 1: something has changed that decisions depend on

	mu       sync.Mutex // guards all below; never held during a request
	idle     *sync.Cond // a shard that was lost has no more reconciles
	leaving  bool
	term     string    // the holderIdentity that this process has written; empty before it has joined
	joined   uint64    // the version of its Lease that brought the term
	deadline time.Time // until when it may work; zero before it has joined
	shards   []shard
	pins     int // reconciles that run, of all shards

	// seen has the last version of each member's Lease, by identity. One that has gone is a nil Lease, and when that was
	// seen.
	seen               map[string]record
	rivals             int   // how often another process was seen to renew the Lease of this identity
	renewErr, writeErr error // the last, until the next success
}

// New returns a member, which does nothing before Run. The client should not limit its rate below some dozens of
// requests a second: a member that gets many shards writes one Lease for each.
func New(client coordinationv1client.LeasesGetter, opts Options) (*Member, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	m := &Member{
		opts: opts, leases: client.Leases(opts.Namespace), name: memberName(opts.Name, opts.Identity),
		decideCh: make(chan struct{}, 1),
		shards:   make([]shard, opts.Shards), seen: map[string]record{},
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
		AddFunc:    func(*coordinationv1.Lease, bool) { m.wake() },
		UpdateFunc: m.updated,
		DeleteFunc: func(sharedinformer.Deletion[*coordinationv1.Lease]) { m.wake() },
	}, sharedinformer.HandlerOptions{})
	return m, err
}

// updated is told of updates by the watch. Most are renewals, on which no decision depends.
func (m *Member) updated(before, after *coordinationv1.Lease) {
	if r, ok := read(m.opts.Name, after); ok {
		m.mu.Lock()
		m.noteLocked(r)
		m.mu.Unlock()
	}
	if ptr.Deref(before.Spec.HolderIdentity, "") != ptr.Deref(after.Spec.HolderIdentity, "") {
		m.wake()
	}
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
	for m.dropLocked(m.opts.StopWithin()); m.pins > 0; {
		m.idle.Wait()
	}
	m.mu.Unlock()
	stop()
	loops.Wait()
	m.end(lasting)
	return err
}

// end takes the term out of the member's Lease. A fence that names it is free from then on.
func (m *Member) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, m.opts.RenewEvery())
	defer cancel()
	l, err := m.leases.Get(ctx, m.name, metav1.GetOptions{})
	if r, _ := read(m.opts.Name, l); err == nil && r.term == m.term {
		_, err = m.send(ctx, write{Lease: with(l, m.opts.Name, m.name, "", m.opts.LeaseDuration)})
	}
	m.failed(ctx, &m.renewErr, err)
}

// Ready returns nil while the member's Lease is valid and the group's are watched, whether or not it holds a shard.
// Otherwise the error says what is in the way, and for a missing right what to grant.
func (m *Member) Ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := cmp.Or(m.informer.LastError(), m.writeErr)
	if !time.Now().Before(m.deadline) || !m.informer.HasSynced() {
		err = cmp.Or(err, m.renewErr, errors.New("it has not joined yet"))
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("shards: member %s: %w; if it is forbidden, grant get, list, watch, create, update and delete on "+
		"leases.coordination.k8s.io in namespace %s", m.opts.Identity, err, m.opts.Namespace)
}

// failed remembers a request's error for Ready, and logs it. That another was first is part of the work.
func (m *Member) failed(ctx context.Context, last *error, err error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		err = nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if *last = err; err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Could not write a Lease")
	}
}

// wake makes the member decide again.
func (m *Member) wake() {
	select {
	case m.decideCh <- struct{}{}:
	default: // it will in any case
	}
}
