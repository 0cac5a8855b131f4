package audit

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"glasswatch/internal/lens/look"
)

// Audit is what was seen of the replicas of one group. Make it with [New]. Keys are namespace/name.
type Audit struct {
	member, fence string // how the names of the members' Leases and of the fences begin
	shards        int

	mu         sync.Mutex // protects what follows
	taken      map[turn]time.Time
	works      map[string][]work   // by key
	sent       map[string][]sent   // by key: writes that succeeded, and those without an answer
	shown      map[string][]uint64 // by key: versions of the Ingress that brought another spec
	generation map[string]int64    // by key: of the last of them
	leases     map[string][]naming // by the name of the Lease, in the order of their versions
	lists      map[string]int      // by replica
}

// turn is a key in the hands of a replica. work is when a reconcile had it.
type turn struct{ replica, key string }
type work struct {
	replica  string
	from, to time.Time
}

// sent is a write and the version that was answered, 0 for no answer.
type sent struct {
	replica string
	version uint64
}

// naming is a version of a Lease that brought another term, and when the watch showed it.
type naming struct {
	version uint64
	term    string
	at      time.Time
}

// New returns an audit of a group that has so many shards.
func New(group string, shards int) *Audit {
	return &Audit{
		member: group + "-member-", fence: group + "-shard-" + strconv.Itoa(shards) + "-", shards: shards,
		taken: map[turn]time.Time{}, works: map[string][]work{}, sent: map[string][]sent{},
		shown: map[string][]uint64{}, generation: map[string]int64{},
		leases: map[string][]naming{}, lists: map[string]int{},
	}
}

// Observe returns what a replica's controller reports to. Keys that it takes and drops are not decided on.
func (a *Audit) Observe(replica string) func(...look.Event) {
	return func(events ...look.Event) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, e := range events {
			switch what := (turn{replica, e.Key}); e.At {
			case look.Taken:
				a.taken[what] = time.Now()
			case look.Decided:
				a.works[e.Key] = append(a.works[e.Key], work{replica, a.taken[what], time.Now()})
			}
		}
	}
}

// SawIngress is told of each version that a watch shows.
func (a *Audit) SawIngress(ing *networkingv1.Ingress) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := ing.Namespace + "/" + ing.Name
	if ing.Generation > a.generation[key] { // others may write the status
		a.generation[key] = ing.Generation
		a.shown[key] = append(a.shown[key], versionOf(ing))
	}
}

// SawLease is told of each version that a watch shows. Most are renewals, which change no term.
func (a *Audit) SawLease(l *coordinationv1.Lease) {
	term := ptr.Deref(l.Spec.HolderIdentity, "")
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.leases[l.Name]; len(known) == 0 || known[len(known)-1].term != term {
		a.leases[l.Name] = append(known, naming{versionOf(l), term, time.Now()})
	}
}

// versionOf is a resourceVersion as the number that it is. One that is none is 0, which no fence allows.
func versionOf(object metav1.Object) uint64 {
	number, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	return number
}

// namings are those of a shard's fence.
func (a *Audit) namingsLocked(shard int) []naming { return a.leases[a.fence+strconv.Itoa(shard)] }

// ownerOf returns whose term it is: a term is identity/shards/nonce.
func ownerOf(term string) string {
	owner, _, _ := strings.Cut(term, "/")
	return owner
}

// termAt returns the term that is in force at a version, "" for none.
func termAt(namings []naming, version uint64) (term string) {
	for _, n := range namings {
		if n.version < version {
			term = n.term
		}
	}
	return term
}

// Owners returns whom each fence names, "" for nobody.
func (a *Audit) Owners() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	names := make([]string, a.shards)
	for shard := range names {
		names[shard] = ownerOf(termAt(a.namingsLocked(shard), math.MaxUint64))
	}
	return names
}

// FirstLoss returns when the first fence was shown to name another than this replica, after a moment.
func (a *Audit) FirstLoss(replica string, after time.Time) (first time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for shard := range a.shards {
		namings := a.namingsLocked(shard)
		for i := 1; i < len(namings); i++ {
			before, now := ownerOf(namings[i-1].term), namings[i]
			lost := before == replica && ownerOf(now.term) != replica && now.at.After(after)
			if lost && (first.IsZero() || now.at.Before(first)) {
				first = now.at
			}
		}
	}
	return first
}

// LastWork returns when the last reconcile of a replica ended.
func (a *Audit) LastWork(replica string) (last time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, works := range a.works {
		for _, w := range works {
			if w.replica == replica && w.to.After(last) {
				last = w.to
			}
		}
	}
	return last
}

// AtOnce returns the keys that two replicas had at the same time.
func (a *Audit) AtOnce() (keys []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, works := range a.works {
		if slices.ContainsFunc(works, func(one work) bool {
			return slices.ContainsFunc(works, func(other work) bool {
				return one.replica != other.replica && one.from.Before(other.to) && other.from.Before(one.to)
			})
		}) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Writes returns how many writes of Ingresses the server took, and which keys have one that no replica sent, or one of
// a replica that did not own the key's shard at that version. shardOf returns the shard of a key.
func (a *Audit) Writes(shardOf func(key string) int) (taken int, unfenced []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, versions := range a.shown {
		for _, version := range versions {
			taken++
			if !a.isFromLocked(a.ownerLocked(shardOf(key), version), key, version) {
				unfenced = append(unfenced, key)
			}
		}
	}
	return taken, unfenced
}

// ownerLocked returns whose term the fence names at a version, "" if the Lease of that member has no longer the same.
func (a *Audit) ownerLocked(shard int, version uint64) string {
	term := termAt(a.namingsLocked(shard), version)
	owner := ownerOf(term)
	if termAt(a.leases[a.member+owner], version) != term {
		return ""
	}
	return owner
}

// isFromLocked reports whether a replica sent the write that made a version. A write without an answer may be any
// version that no replica was answered.
func (a *Audit) isFromLocked(replica, key string, version uint64) bool {
	answered := slices.IndexFunc(a.sent[key], func(s sent) bool { return s.version == version })
	if answered >= 0 {
		return a.sent[key][answered].replica == replica
	}
	return slices.Contains(a.sent[key], sent{replica: replica})
}

// Lists returns how many lists of Services and of Ingresses each replica has sent.
func (a *Audit) Lists() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.lists)
}
