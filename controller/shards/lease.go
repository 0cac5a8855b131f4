package shards

import (
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// groupLabel has the group's name, on all its Leases.
const groupLabel = "shards.glasswatch/group"

// record is a Lease of the group: a member's, which is renewed all the time, or a shard's fence, which is written when
// the shard moves and holds as long as the term that it names.
type record struct {
	*coordinationv1.Lease // nil if it was never written
	version               uint64
	// term is the holderIdentity: identity, number of shards and a nonce of the member that joined with it. A member's
	// Lease without one has ended. A fence without one is free.
	term     string
	identity string // of a member's Lease; empty for a fence
	shard    int    // of a fence
	count    int    // into how many shards the member divides, or the fence belongs to; 0 if that is not known
	duration time.Duration
	// renewedAt is when a member was seen to renew last, and renewals how often, with this term. formerAt is when it was
	// seen to renew with the former one.
	renewedAt, formerAt time.Time
	renewals            int
}

func (r record) expiry() time.Time { return r.renewedAt.Add(r.duration) }

func memberName(group, identity string) string { return group + "-member-" + identity }

func fenceName(group string, count, shard int) string {
	return group + "-shard-" + strconv.Itoa(count) + "-" + strconv.Itoa(shard)
}

// identityOf returns whose term it is.
func identityOf(term string) string {
	identity, _, _ := strings.Cut(term, "/")
	return identity
}

// versionOf returns a resourceVersion as the number that it is. It grows with each write to any Lease.
func versionOf(resourceVersion string) uint64 {
	version, _ := strconv.ParseUint(resourceVersion, 10, 64)
	return version
}

// read returns what a Lease of the group says. Of something else it has neither identity nor count.
//
// Anybody may have written the Lease. What makes no sense in it counts as missing, and for a missing duration stands
// this member's own.
func (o Options) read(l *coordinationv1.Lease) (r record) {
	r = record{Lease: l, version: versionOf(l.ResourceVersion), term: ptr.Deref(l.Spec.HolderIdentity, "")}
	r.duration = time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 0)) * time.Second
	if r.duration <= 0 || r.duration > maxLeaseDuration {
		r.duration = o.LeaseDuration
	}
	if identity, ok := strings.CutPrefix(l.Name, memberName(o.Name, "")); ok {
		r.identity = identity
		if owner, rest, _ := strings.Cut(r.term, "/"); owner == identity {
			count, _, _ := strings.Cut(rest, "/")
			n, bad := strconv.Atoi(count)
			if bad == nil && 1 <= n && n <= MaxShards {
				r.count = n
			}
		}
		return r
	}
	rest, _ := strings.CutPrefix(l.Name, o.Name+"-shard-")
	count, shard, _ := strings.Cut(rest, "-")
	n, bad1 := strconv.Atoi(count)
	s, bad2 := strconv.Atoi(shard)
	if bad1 == nil && bad2 == nil && 0 <= s && s < n && l.Name == fenceName(o.Name, n, s) { // not 03 for 3
		r.count, r.shard = n, s
	}
	return r
}

// with returns the Lease with another term, or with none, to be written in the place of l, which may be nil. UID and
// resourceVersion are l's: the write fails if anybody has written or deleted it since.
func with(l *coordinationv1.Lease, group, name, term string, duration time.Duration) *coordinationv1.Lease {
	if l == nil {
		l = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	l = l.DeepCopy()
	metav1.SetMetaDataLabel(&l.ObjectMeta, groupLabel, group)
	l.Spec.RenewTime = ptr.To(metav1.NowMicro()) // for people: nothing is decided by it
	l.Spec.LeaseDurationSeconds = ptr.To(int32(duration / time.Second))
	l.Spec.HolderIdentity = &term
	return l
}
