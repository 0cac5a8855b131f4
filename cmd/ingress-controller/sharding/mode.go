package sharding

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// mode holds the Lease of the election for all replicas with shards. They share one identity in it.
//
// A member's renewal is sent only when the mode's Lease is known to have been renewed shortly before. The member works
// for Validity from when it began that, and its reconciles have returned StopWithin later: before LeaseDuration is over
// on the fastest clock. The mode's Lease was renewed at most half a LeaseDuration earlier, and lasts 1.6. So when it
// runs out for a leader, no member works. A replica that cannot renew it neither works nor ends: its member just fails
// to renew, and tries again.
//
//	◀── at most 0.5 ──▶◀── Validity, StopWithin ──▶        in LeaseDurations
//	┬──────────────────┬───────────────────────────┬──────────────┬────▶
//	the mode's         the member's                nobody works   a leader may
//	◀───────────────────────────── 1.6 ──────────────────────────▶
//
// One replica renews for all. A replica that finds the Lease changed since it asked for it last knows that another has
// renewed it after that.
type mode struct {
	client    coordinationv1client.LeasesGetter
	namespace string
	name      string
	candidate string        // the identity of all replicas with shards
	lasts     time.Duration // of a member's Lease
	othersRun atomic.Bool   // another holds the Lease

	// The rest is used by the member's renewals only, which come one at a time.
	seen    *coordinationv1.LeaseSpec // as it was seen last
	seenAt  time.Time                 // when it was seen first
	askedAt time.Time                 // it was not outdated then, or not there
	renewed time.Time                 // whoever holds it has written it after that; zero if that is not known

	mayWork   atomic.Bool // while others hold the Lease: this replica has the rights that it needs
	mayWorkAt time.Time   // when it was asked for them last
}

// waits reports whether it is the turn of others, of a leader or of replicas that divide by something else, and this
// replica can begin when its turn has come.
func (m *mode) waits() bool { return m.othersRun.Load() && m.mayWork.Load() }

// hold returns nil if the Lease was renewed for this candidate within the last half of lasts. It takes the Lease if
// that is free. A conflict says that others have it.
func (m *mode) hold(ctx context.Context) error {
	err := m.tryToHold(ctx)
	if (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)) && !m.othersRun.Load() {
		err = m.tryToHold(ctx) // another replica was quicker, and has most likely renewed it for all
	}
	return err
}

func (m *mode) tryToHold(ctx context.Context) error {
	asked := time.Now()
	lease, err := m.client.Leases(m.namespace).Get(ctx, m.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		m.askedAt = asked
		return m.write(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.name}})
	}
	if err != nil {
		return err
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if m.seen == nil || !equality.Semantic.DeepEqual(*m.seen, lease.Spec) {
		m.renewed, m.seen, m.seenAt = m.askedAt, lease.Spec.DeepCopy(), time.Now()
	}
	m.askedAt = asked
	seconds := m.lastsBy(lease)
	switch {
	case holder == m.candidate && asked.Sub(m.renewed) < m.lasts/2 && seconds >= m.seconds():
		m.othersRun.Store(false)
		return nil
	case holder != m.candidate && holder != "" && time.Since(m.seenAt) < time.Duration(seconds)*time.Second:
		if !m.othersRun.Swap(true) {
			klog.FromContext(ctx).Info("Waiting until no other works", "lease", m.name, "holder", holder)
		}
		return apierrors.NewConflict(coordinationv1.Resource("leases"), m.name, fmt.Errorf("held by %q", holder))
	}
	return m.write(ctx, lease)
}

// seconds is how long the Lease must last for this replica.
func (m *mode) seconds() int32 { return int32(math.Ceil(1.6 * m.lasts.Seconds())) }

// lastsBy returns how many seconds a Lease lasts that anybody may have written: as long as this replica's own if it does
// not say that, or nonsense. More than two days are nonsense: a mode's Lease lasts 1.6 at most, and a leader's one.
func (m *mode) lastsBy(lease *coordinationv1.Lease) int32 {
	const most = 2 * 24 * 60 * 60
	if seconds := ptr.Deref(lease.Spec.LeaseDurationSeconds, 0); 0 < seconds && seconds <= most {
		return seconds
	}
	return m.seconds()
}

// renewTime returns the time of a renewal. client-go tells two renewals apart by the second, so it is at least one later
// than the last, whatever the replicas' clocks show. A last one that is a day ahead is no replica's.
func renewTime(last *metav1.MicroTime, now metav1.MicroTime) metav1.MicroTime {
	if last != nil && now.Sub(last.Time) < time.Second && last.Sub(now.Time) < 24*time.Hour {
		return metav1.NewMicroTime(last.Add(time.Second))
	}
	return now
}

// write takes or renews the Lease. A renewal does not shorten it: others may need more than this one, as in a rolling
// update that changes LeaseDuration.
func (m *mode) write(ctx context.Context, lease *coordinationv1.Lease) (err error) {
	now, spec, seconds := metav1.NowMicro(), &lease.Spec, m.seconds()
	if n := ptr.Deref(spec.LeaseTransitions, 0); n < 0 || n == math.MaxInt32 { // it cannot grow
		spec.LeaseTransitions = nil
	}
	if ptr.Deref(spec.HolderIdentity, "") == m.candidate {
		seconds = max(seconds, m.lastsBy(lease))
	} else {
		spec.HolderIdentity, spec.AcquireTime = &m.candidate, &now
		spec.LeaseTransitions = ptr.To(ptr.Deref(spec.LeaseTransitions, -1) + 1)
	}
	spec.RenewTime, spec.LeaseDurationSeconds = ptr.To(renewTime(spec.RenewTime, now)), &seconds
	sent, leases := time.Now(), m.client.Leases(m.namespace)
	if lease.ResourceVersion == "" {
		lease, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		lease, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	m.seen, m.seenAt, m.askedAt, m.renewed = &lease.Spec, time.Now(), sent, sent
	m.othersRun.Store(false)
	return nil
}

// Leases returns Leases among which a member can renew its own only while the mode is held.
func (m *mode) Leases(namespace string) coordinationv1client.LeaseInterface {
	return modeLeases{m.client.Leases(namespace), m}
}

type modeLeases struct {
	coordinationv1client.LeaseInterface
	mode *mode
}

// Create creates a Lease: a member's when it joins, or a fence.
func (l modeLeases) Create(
	ctx context.Context, lease *coordinationv1.Lease, opts metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	if err := l.allow(ctx, lease); err != nil {
		return nil, err
	}
	return l.LeaseInterface.Create(ctx, lease, opts)
}

// Update renews a member's Lease, among others.
func (l modeLeases) Update(
	ctx context.Context, lease *coordinationv1.Lease, opts metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	if err := l.allow(ctx, lease); err != nil {
		return nil, err
	}
	return l.LeaseInterface.Update(ctx, lease, opts)
}

// allow wants the mode for what lets a member work. That is only its own Lease with its name in it: a member
// takes the names out of others' Leases, and decides to write fences only while its own is valid.
func (l modeLeases) allow(ctx context.Context, lease *coordinationv1.Lease) error {
	isMember := strings.HasPrefix(lease.Name, l.mode.name+"-member-")
	if !isMember || ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
		return nil
	}
	err := l.mode.hold(ctx)
	if err != nil && l.mode.othersRun.Load() {
		return cmp.Or(l.mode.mayWrite(ctx, lease.Name), err)
	}
	return err
}

// mayWrite returns an error if this replica lacks a right to write a Lease like its own, of that name, or if that is
// not known. A replica that waits writes none, and would learn of it only when its turn has come.
//
// The server looks at the rights before all else. Then each of these writes fails, or is a dry run. A server that
// knows no dry run changes nothing either: the Lease to be created is there, and the others are none of this UID.
func (m *mode) mayWrite(ctx context.Context, name string) error {
	if m.mayWork.Load() && time.Since(m.mayWorkAt) < m.lasts/2 {
		return nil
	}
	leases, dry, none := m.client.Leases(m.namespace), []string{metav1.DryRunAll}, types.UID("none")
	there := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.name}}
	old := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, UID: none, ResourceVersion: "1"}}
	var asked errgroup.Group
	asked.Go(func() error {
		_, err := leases.Create(ctx, there, metav1.CreateOptions{DryRun: dry})
		return unlessAnswered(err)
	})
	asked.Go(func() error {
		_, err := leases.Update(ctx, old, metav1.UpdateOptions{DryRun: dry})
		return unlessAnswered(err)
	})
	asked.Go(func() error {
		of := &metav1.Preconditions{UID: &none}
		return unlessAnswered(leases.Delete(ctx, name, metav1.DeleteOptions{DryRun: dry, Preconditions: of}))
	})
	err := asked.Wait()
	m.mayWork.Store(err == nil)
	m.mayWorkAt = time.Now()
	return err
}

// unlessAnswered returns nil for the errors of a server that has found the rights to be there.
func unlessAnswered(err error) error {
	return utilerrors.FilterOut(err, apierrors.IsAlreadyExists, apierrors.IsConflict, apierrors.IsNotFound,
		apierrors.IsInvalid, apierrors.IsBadRequest)
}
