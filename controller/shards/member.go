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

// Member is one process's part in a group. Make it with [New]. Its methods are safe for concurrent use.
type Member struct {
	opts     Options
	leases   coordinationv1client.LeaseInterface
	informer *sharedinformer.Informer[*coordinationv1.Lease]
	ran      atomic.Bool
	name     string        // of its Lease
	decideCh chan struct{} // capacity 1: something has changed that decisions depend on

	mu       sync.Mutex // guards all below; never held during a request
	unpinned *sync.Cond // a shard that was lost has no more reconciles
	leaving  bool
	term     string                // what this process last tried to write into its Lease; empty after it was lost
	answered *coordinationv1.Lease // the answer to the last write of this term; nil before the first
	deadline time.Time             // until when it may work; zero before it has joined
	expiry   *time.Timer           // at the deadline
	shards   []shard
	pins     int // reconciles that run, of all shards

	seen               map[string]record    // the last version of each member's Lease, by identity
	goneSince          map[string]time.Time // when fences were first seen that name a term whose Lease is not there
	renewErr, writeErr error                // the last, until the next success
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
		shards:   make([]shard, opts.Shards), seen: map[string]record{}, goneSince: map[string]time.Time{},
	}
	m.unpinned = sync.NewCond(&m.mu)
	m.expiry = time.AfterFunc(opts.LeaseDuration, m.expire)
	lw := listwatch.Funcs[*coordinationv1.Lease]{
		ListFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = groupLabel + "=" + opts.Name
			return m.leases.List(ctx, o)
		},
		WatchFunc: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = groupLabel + "=" + opts.Name
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
	r := m.opts.read(after)
	if r.identity != "" {
		m.mu.Lock()
		m.noteLocked(r)
		m.mu.Unlock()
	}
	if r.identity == "" || r.term != ptr.Deref(before.Spec.HolderIdentity, "") {
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
	duplicate := make(chan error, 1)
	loops.Go(func() { _ = m.informer.Run(running) })
	loops.Go(func() { m.decideLoop(running) })
	loops.Go(func() { duplicate <- m.renewLoop(running) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-duplicate:
	}
	m.mu.Lock()
	m.leaving = true
	m.dropLocked(m.opts.StopWithin())
	for m.pins > 0 {
		m.unpinned.Wait()
	}
	m.mu.Unlock()
	stop()
	loops.Wait()
	m.expiry.Stop()
	if m.term != "" { // a fence that names it is free from now on
		request, cancel := context.WithTimeout(lasting, m.opts.RenewEvery())
		defer cancel()
		l, failed := m.leases.Get(request, m.name, metav1.GetOptions{})
		if failed == nil && m.opts.read(l).term == m.term {
			_, failed = m.put(request, with(l, m.opts.Name, m.name, "", m.opts.LeaseDuration))
		}
		m.noteError(lasting, &m.renewErr, failed)
	}
	return err
}

// Ready returns nil if the member has a valid Lease, its last requests succeeded, and no reconcile of a shard that it
// has lost goes on for ever. It need not hold a shard. The error says what is in the way, and for a missing right what
// to grant.
func (m *Member) Ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for s, sh := range m.shards { // while it runs, no request may be sent: the error of the last one says little
		if sh.pins > 0 && sh.ctx == nil && time.Since(sh.lostAt) > 2*m.opts.StopWithin() {
			err = fmt.Errorf("a reconcile of shard %d, which was lost, has not returned for %v", s, time.Since(sh.lostAt))
		}
	}
	if last := cmp.Or(m.informer.LastError(), m.renewErr, m.writeErr); err == nil || apierrors.IsForbidden(last) {
		err = errors.Join(err, last)
	}
	if err == nil && !time.Now().Before(m.deadline) {
		err = errors.New("the watch does not show that it has joined")
	}
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("grant get, list, watch, create, update and delete on leases.coordination.k8s.io "+
			"in namespace %s: %w", m.opts.Namespace, err)
	}
	if err != nil {
		return fmt.Errorf("shards: member %s: %w", m.opts.Identity, err)
	}
	return nil
}

// noteError remembers what became of the last request for Ready, and logs an error. A conflict is part of the work.
func (m *Member) noteError(ctx context.Context, last *error, err error) {
	m.mu.Lock()
	*last = err
	m.mu.Unlock()
	if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
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
