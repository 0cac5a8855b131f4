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
	// Namespace is where the Leases are. Name is the group's, and begins the names of its Leases.
	Namespace, Name string
	// Identity names this member, and must be no other's. The Pod's name is a good one.
	Identity string
	// Shards is how many shards there are: 256 by default. If members differ, those of the number that most members
	// have do the work, and of equals those with the larger number. The others stand by.
	Shards int

	// LeaseDuration is how long others wait, after they saw this member's last renewal, before they take its shards.
	// Whole seconds; 15 s by default.
	LeaseDuration time.Duration
	// RenewEvery is the time between two renewals, and the timeout of each request. By default it is a fifth of
	// LeaseDuration.
	RenewEvery time.Duration
	// MaxClockDrift is by how much a member's clock may be fast or slow, as a share of the time that passes: 0.05 by
	// default. What the clocks show does not matter.
	MaxClockDrift float64
	// StopWithin is how long a reconcile may take to return after its context was cancelled, including what it has on
	// the wire. By default it is a fifth of LeaseDuration.
	StopWithin time.Duration

	// OnChange is told which shards this member has got and lost. The calls come one at a time and in order, with no
	// lock held. A shard that was lost and got again is in both lists or in two calls. Decisions wait while it runs;
	// renewals do not.
	OnChange func(gained, lost []int)
	// Metrics are told what happens.
	Metrics Metrics
}

// Metrics are hooks that may be nil. They must be fast, and must not call the member.
type Metrics struct {
	// Held is told how many shards the member holds.
	Held func(n int)
	// Gained is told, for each shard that the member gets, how long it had no owner, as far as this member saw. That
	// is counted from the former owner's last renewal, or from when the shard was seen free. It is 0 if the former
	// owner handed it over. lag is how long the member waited since the shard was assigned to it.
	Gained func(unowned, lag time.Duration)
	// Lost is told, for each shard that the member lets go, how long it took until the last reconcile had returned.
	Lost func(took time.Duration)
}

// validity is how long this member works after it sent a renewal. Then StopWithin is left until LeaseDuration has
// passed on the fastest clock, even if this member's is the slowest.
func (o *Options) validity() time.Duration {
	return time.Duration(float64(o.LeaseDuration)*(1-o.MaxClockDrift)/(1+o.MaxClockDrift)) - o.StopWithin
}

func (o *Options) setDefaults() {
	o.Shards = cmp.Or(o.Shards, 256)
	o.LeaseDuration = cmp.Or(o.LeaseDuration, 15*time.Second)
	o.RenewEvery = cmp.Or(o.RenewEvery, o.LeaseDuration/5)
	o.StopWithin = cmp.Or(o.StopWithin, o.LeaseDuration/5)
	o.MaxClockDrift = cmp.Or(o.MaxClockDrift, 0.05)
	if o.OnChange == nil {
		o.OnChange = func([]int, []int) {}
	}
}

// maxShards is as many as one namespace and one watch can well bear.
const maxShards = 1 << 14

// check returns an error that says what to change.
func (o *Options) check() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("shards: "+format, args...))
		}
	}
	wrong(o.Namespace == "", "Namespace is empty: name the one that the Leases are in")
	for what, value := range map[string]string{"Name": o.Name, "Identity": o.Identity} {
		for _, why := range validation.IsDNS1123Subdomain(value) {
			wrong(true, "%s %q cannot be part of a Lease's name: %s", what, value, why)
		}
	}
	for _, why := range validation.IsValidLabelValue(o.Name) {
		wrong(true, "Name %q cannot be a label: %s", o.Name, why)
	}
	length := len(memberName(o.Name, o.Identity))
	wrong(length > validation.DNS1123SubdomainMaxLength, "Name and Identity are too long by %d characters",
		length-validation.DNS1123SubdomainMaxLength)
	wrong(o.Shards < 1 || o.Shards > maxShards, "Shards is %d: it must be from 1 to %d", o.Shards, maxShards)
	wrong(o.LeaseDuration < time.Second || o.LeaseDuration%time.Second != 0,
		"LeaseDuration is %v: it must be whole seconds", o.LeaseDuration)
	wrong(o.MaxClockDrift < 0 || o.MaxClockDrift >= 1, "MaxClockDrift is %v: it must be from 0 to 1", o.MaxClockDrift)
	wrong(o.StopWithin < 0 || o.RenewEvery <= 0, "RenewEvery is %v, StopWithin %v", o.RenewEvery, o.StopWithin)
	wrong(o.validity() < 2*o.RenewEvery, "a Lease of %v is good for work for %v: that must be twice RenewEvery, %v",
		o.LeaseDuration, o.validity(), o.RenewEvery)
	return errors.Join(errs...)
}
