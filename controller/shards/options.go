package shards

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Options of a [Member]. Namespace, Name and Identity are required. Members of one group agree on Namespace and Name.
// The rest may differ, so that a rolling update can change it.
type Options struct {
	// Namespace has the Leases, which members get, list, watch, create, update and delete. Name begins their names.
	Namespace, Name string
	// Identity names this member, and must be no other's. The Pod's name is a good one.
	Identity string
	// Shards is how many shards there are, 256 by default. If members differ, the number that most of them have counts,
	// and the larger of two that are as frequent. Members with another number stand by.
	Shards int
	// LeaseDuration is how long others wait, after they saw this member's last renewal, before they take its shards.
	// Whole seconds, a day at most; 15 s by default.
	LeaseDuration time.Duration
	// OnChange is told which shards this member has got, and which it has lost; reconciles of these may still run. gained
	// has, for each, since when nobody works on it: since its former owner was last seen to renew, or since now if that
	// handed it over. The calls come one at a time, in order, with no lock held. A shard that was lost and got again is in
	// both or in two calls. Decisions wait while it runs, and so does the end of Run; renewals do not.
	OnChange func(gained map[int]time.Time, lost []int)
}

// MaxClockDrift is by how much a member's clock may be fast or slow, as a share of the time that passes.
const MaxClockDrift = 0.05

// MaxShards is the largest number of shards.
const MaxShards = 1 << 14

// A Lease that says more was written by something else.
const maxLeaseDuration = 24 * time.Hour

// RenewEvery is the time between two renewals, and the timeout of each request.
func (o Options) RenewEvery() time.Duration { return o.LeaseDuration / 5 }

// StopWithin is how long a reconcile may take to return after it was cancelled, with what it has on the wire.
func (o Options) StopWithin() time.Duration { return o.LeaseDuration / 5 }

// Validity is how long a member works after it sent a renewal: 7/10 of LeaseDuration. When it ends on the slowest clock,
// there is still StopWithin left before LeaseDuration ends on the fastest.
func (o Options) Validity() time.Duration {
	return time.Duration(float64(o.LeaseDuration)*(1-MaxClockDrift)/(1+MaxClockDrift)) - o.StopWithin()
}

// complete sets defaults, and returns an error that says what to change.
func (o *Options) complete() error {
	o.Shards = cmp.Or(o.Shards, 256)
	o.LeaseDuration = cmp.Or(o.LeaseDuration, 15*time.Second)
	var errs []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("shards: "+format, args...))
		}
	}
	name := memberName(o.Name, o.Identity)
	must(o.Namespace != "", "Namespace is empty: name the one that the Leases are in")
	must(len(validation.IsValidLabelValue(o.Name)) == 0 && o.Name != "", "Name %q cannot be a label", o.Name)
	must(len(validation.IsDNS1123Subdomain(o.Identity))+len(validation.IsDNS1123Subdomain(name)) == 0,
		"Identity %q and %q, with Name, cannot be names of Leases", o.Identity, name)
	must(1 <= o.Shards && o.Shards <= MaxShards, "Shards is %d: it must be from 1 to %d", o.Shards, MaxShards)
	must(o.LeaseDuration >= time.Second && o.LeaseDuration <= maxLeaseDuration && o.LeaseDuration%time.Second == 0,
		"LeaseDuration is %v: it must be whole seconds, up to %v", o.LeaseDuration, maxLeaseDuration)
	return errors.Join(errs...)
}
