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
	// Shards is how many shards there are. 0 means 256; only a program's flag --shards means by 0 that there are none,
	// and then there is no member. If members differ, those of the number that most have do the
	// work, and of equals those with the larger number. The others stand by.
	Shards int

	// LeaseDuration is how long others wait, after they saw this member's last renewal, before they take its shards.
	// Whole seconds; 15 s by default.
	LeaseDuration time.Duration
	// RenewEvery is the time between two renewals, and the timeout of each request. By default it is a fifth of
	// LeaseDuration.
	RenewEvery time.Duration
	// StopWithin is how long a reconcile may take to return after its context was cancelled, what it has on the wire
	// included: a fifth of LeaseDuration by default.
	StopWithin time.Duration
	// MaxClockDrift is by how much a member's clock may be fast or slow, as a share of the time that passes: 0.05 by
	// default. What the clocks show does not matter.
	MaxClockDrift float64

	// OnChange is told which shards this member has got and lost. The calls come one at a time and in order, with no
	// lock held. A shard that was lost and got again is in both lists or in two calls. Decisions wait while it runs;
	// renewals do not.
	OnChange func(gained, lost []int)
	// Metrics are told what happens.
	Metrics Metrics
}

// Metrics are hooks that may be nil. They must be fast, and must not call the member.
type Metrics struct {
	// Held is told how many shards the member holds, when that changes.
	Held func(n int)
	// Gained is told of each shard that the member gets. unowned is how long it had no owner, from the former one's
	// last renewal or from when it was seen free, and 0 after a hand-over. lag is how long it
	// was assigned to this member.
	Gained func(unowned, lag time.Duration)
	// Lost is told of each shard that the member lets go how long its last reconcile took to return.
	Lost func(took time.Duration)
}

// Validity is how long a member with these options works after it sent a renewal. StopWithin is then left until
// LeaseDuration has passed on the fastest clock, even if this member's is the slowest.
func (o Options) Validity() time.Duration {
	_ = o.complete()
	return o.validity()
}

func (o *Options) validity() time.Duration {
	return time.Duration(float64(o.LeaseDuration)*(1-o.MaxClockDrift)/(1+o.MaxClockDrift)) - o.StopWithin
}

// complete sets defaults, and returns an error that says what to change.
func (o *Options) complete() error {
	o.Shards = cmp.Or(o.Shards, 256)
	o.LeaseDuration = cmp.Or(o.LeaseDuration, 15*time.Second)
	o.RenewEvery = cmp.Or(o.RenewEvery, o.LeaseDuration/5)
	o.StopWithin = cmp.Or(o.StopWithin, o.LeaseDuration/5)
	o.MaxClockDrift = cmp.Or(o.MaxClockDrift, 0.05)
	var errs []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("shards: "+format, args...))
		}
	}
	must(o.Namespace != "", "Namespace is empty: name the one that the Leases are in")
	must(len(validation.IsValidLabelValue(o.Name)) == 0 && o.Name != "", "Name %q cannot be a label", o.Name)
	must(len(validation.IsDNS1123Subdomain(o.Identity)) == 0,
		"Identity %q cannot be part of a Lease's name", o.Identity)
	name := memberName(o.Name, o.Identity)
	must(len(validation.IsDNS1123Subdomain(name)) == 0, "Name and Identity make no name of a Lease: %q", name)
	must(1 <= o.Shards && o.Shards <= 1<<14, "Shards is %d: it must be from 1 to %d", o.Shards, 1<<14)
	must(o.LeaseDuration >= time.Second && o.LeaseDuration%time.Second == 0,
		"LeaseDuration is %v: it must be whole seconds", o.LeaseDuration)
	must(0 <= o.MaxClockDrift && o.MaxClockDrift < 1, "MaxClockDrift is %v: it must be from 0 to 1", o.MaxClockDrift)
	must(o.RenewEvery > 0 && o.StopWithin >= 0 && o.validity() >= 2*o.RenewEvery, "a Lease of %v, less StopWithin and "+
		"the clocks' drift, is good for %v of work: that must be twice RenewEvery, %v",
		o.LeaseDuration, o.validity(), o.RenewEvery)
	return errors.Join(errs...)
}
