package operator

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"
)

// Election are the flags of leader election. It is on by default in a Pod, which may be one of several replicas. A
// controller on a laptop has neither a Pod's namespace for the lease nor a second replica.
type Election struct {
	Enabled             bool
	undecided           bool          // the flag that enables it was not given
	Namespace, Name     string        // of the lease
	Lease, Renew, Retry time.Duration // its duration, the deadline, the period
}

func (f *Election) addTo(fs *pflag.FlagSet) {
	fs.BoolVar(&f.Enabled, "leader-elect", false,
		"of several replicas let one write at a time, and the others stand by; the default in a Pod")
	fs.StringVar(&f.Namespace, "leader-elect-namespace", "",
		"namespace of the lease; without it the Pod's own, else --namespace")
	fs.StringVar(&f.Name, "leader-elect-name", fs.Name(), "name of the lease; replicas of one controller share it")
	fs.DurationVar(&f.Lease, "leader-elect-lease-duration", 15*time.Second,
		"how long others wait for a leader that is silent")
	fs.DurationVar(&f.Renew, "leader-elect-renew-deadline", 10*time.Second,
		"how long a leader tries to renew the lease before it gives up and exits")
	fs.DurationVar(&f.Retry, "leader-elect-retry-period", 2*time.Second, "how often the lease is renewed or tried for")
}

// decide is for a program on a cluster that was not told whether to take part. podFile is there in a Pod.
func (f *Election) decide(ctx context.Context, podFile string) {
	if !f.undecided {
		return
	}
	_, err := os.Stat(podFile)
	f.Enabled = err == nil
	if !f.Enabled {
		klog.FromContext(ctx).Info("Warning: without --leader-elect this takes no part in an election, and writes beside " +
			"a controller that is deployed on this cluster. To wait for its turn: --leader-elect and --leader-elect-namespace")
	}
}

func (f *Election) validate(fs *pflag.FlagSet) error {
	f.undecided = !fs.Changed("leader-elect")
	if !f.Enabled {
		err := Refuse(fs, "has no use without --leader-elect", "leader-elect-namespace", "leader-elect-name",
			"leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period")
		if err != nil {
			return err
		}
	}
	if err := f.ValidateLease(); err != nil {
		return err
	}
	if f.Renew >= f.Lease {
		return fmt.Errorf("--leader-elect-renew-deadline: want less than the lease duration, %s, got %s",
			f.Lease, f.Renew)
	}
	if f.Retry <= 0 || float64(f.Renew) <= leaderelection.JitterFactor*float64(f.Retry) {
		return fmt.Errorf("--leader-elect-retry-period: "+
			"want more than 0 and less than the renew deadline, %s, over %.1f, got %s",
			f.Renew, leaderelection.JitterFactor, f.Retry)
	}
	// Otherwise another replica could lead while this one still tries. The deadline is counted from a retry period
	// after the last renewal.
	if f.Retry >= f.Lease-f.Renew {
		return fmt.Errorf("--leader-elect-renew-deadline: "+
			"want less than the lease duration less the retry period, %s, got %s", f.Lease-f.Retry, f.Renew)
	}
	return nil
}

// longestLease is the longest duration of a lease. A lease that says more was not written by a replica.
const longestLease = 24 * time.Hour

// ValidateLease checks namespace, name and duration of the lease.
func (f *Election) ValidateLease() error {
	if errs := validation.IsDNS1123Label(f.Namespace); f.Namespace != "" && len(errs) > 0 {
		return fmt.Errorf("--leader-elect-namespace: want a namespace's name, got %q: %s",
			f.Namespace, strings.Join(errs, "; "))
	}
	if errs := validation.IsDNS1123Subdomain(f.Name); len(errs) > 0 {
		return fmt.Errorf("--leader-elect-name: want a lease's name, got %q: %s", f.Name, strings.Join(errs, "; "))
	}
	if f.Lease < time.Second || f.Lease > longestLease || f.Lease%time.Second != 0 {
		return fmt.Errorf("--leader-elect-lease-duration: want whole seconds, from 1s to %s, got %s",
			longestLease, f.Lease)
	}
	return nil
}
