package shards

import (
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// What stands in a Lease besides its spec.
const (
	// groupLabel has the group's name, on all its Leases.
	groupLabel = "shards.glasswatch/group"
	// countAnnotation, on a member's Lease, is into how many shards it divides.
	countAnnotation = "shards.glasswatch/count"
	// leavingAnnotation, on a member's Lease, says that it takes no more shards.
	leavingAnnotation = "shards.glasswatch/leaving"
)

// memberLease is a member's Lease. It is renewed all the time.
type memberLease struct {
	*coordinationv1.Lease
	version  uint64
	identity string
	// term is the holderIdentity: the identity, a slash, and a nonce of the process. Fences name it. It is empty once
	// the member has ended, or was declared to have.
	term    string
	shards  int
	leaving bool
}

// fence is a shard's Lease. It is written when the shard moves. It holds as long as its owner's term.
type fence struct {
	*coordinationv1.Lease // nil if it was never written
	version               uint64
	shards, shard         int
	term                  string // the owner's, or empty
}

func memberName(group, identity string) string { return group + "-member-" + identity }

func fenceName(group string, shards, shard int) string {
	return group + "-shard-" + strconv.Itoa(shards) + "-" + strconv.Itoa(shard)
}

// identityOf returns whose term it is.
func identityOf(term string) string {
	identity, _, _ := strings.Cut(term, "/")
	return identity
}

// versionOf returns the resourceVersion, which is a number that grows with each write to any Lease.
func versionOf(l *coordinationv1.Lease) uint64 {
	version, _ := strconv.ParseUint(l.ResourceVersion, 10, 64)
	return version
}

// readMember returns the Lease of a member. It is not ok if the Lease is something else.
func readMember(group string, l *coordinationv1.Lease) (m memberLease, ok bool) {
	identity, ok := strings.CutPrefix(l.Name, memberName(group, ""))
	if !ok {
		return m, false
	}
	shards, _ := strconv.Atoi(l.Annotations[countAnnotation])
	return memberLease{
		Lease: l, version: versionOf(l), identity: identity, term: ptr.Deref(l.Spec.HolderIdentity, ""),
		shards: shards, leaving: l.Annotations[leavingAnnotation] != "",
	}, true
}

// readFence returns the Lease of a shard. It is not ok if the Lease is something else.
func readFence(group string, l *coordinationv1.Lease) (f fence, ok bool) {
	place, ok := strings.CutPrefix(l.Name, group+"-shard-")
	if !ok {
		return f, false
	}
	count, number, _ := strings.Cut(place, "-")
	shards, err1 := strconv.Atoi(count)
	shard, err2 := strconv.Atoi(number)
	return fence{
		Lease: l, version: versionOf(l), shards: shards, shard: shard, term: ptr.Deref(l.Spec.HolderIdentity, ""),
	}, err1 == nil && err2 == nil && 0 <= shard && shard < shards
}

// duration is how long the Lease's holder has after a renewal.
func duration(l *coordinationv1.Lease) time.Duration {
	return time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 0)) * time.Second
}

// rewritten returns a Lease that can be written in place of l: the same one if nothing has touched it since, with its
// UID and resourceVersion as preconditions. l may be nil. An empty term is written as none.
func rewritten(l *coordinationv1.Lease, group, name, term string, lasts time.Duration) *coordinationv1.Lease {
	if l == nil {
		l = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	l = l.DeepCopy()
	metav1.SetMetaDataLabel(&l.ObjectMeta, groupLabel, group)
	now := metav1.NowMicro() // for people: nothing is decided by it
	if term != ptr.Deref(l.Spec.HolderIdentity, "") {
		l.Spec.AcquireTime = &now
		l.Spec.LeaseTransitions = ptr.To(ptr.Deref(l.Spec.LeaseTransitions, -1) + 1)
	}
	l.Spec.RenewTime = &now
	l.Spec.LeaseDurationSeconds = ptr.To(max(int32(lasts/time.Second), 1))
	l.Spec.HolderIdentity = nil
	if term != "" {
		l.Spec.HolderIdentity = &term
	}
	return l
}
