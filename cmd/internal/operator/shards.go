package operator

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"glasswatch/controller/shards"
	"glasswatch/listwatch/shard"
)

// maxLabels is how many shards there may be with --shard-by=label. A selector names the labels of all: 5 kB of a URL.
const maxLabels = 512

// Sharding are the flags with which all replicas work, each on its shards, instead of one leader. Only programs that
// can do so have them: see [Flags.AddSharding].
//
// # One mode at a time
//
// In the Lease of the election, all replicas with shards are one candidate, which names the field. They hold it
// together: see [mode]. So a leader and replicas with shards never work at the same time. Nor do replicas that divide
// by different fields. A rolling update from one to the other needs no more: a replica of the new kind waits until the
// last of the old kind has gone. A replica with shards does not give the Lease up, because others may work under it.
// After the last one it runs out.
//
// Between replicas with shards, package shards decides. It also settles a changed number of shards.
type Sharding struct {
	Count    int
	By       string // "namespace", "uid" or "label"
	Identity string // of this replica; "" is the host's name
}

// Shards are what a controller needs to work on its shards.
type Shards struct {
	Leases coordinationv1client.LeasesGetter
	Member shards.Options // its OnChange is the controller's to set
	By     shard.Field
	// ByLabel: what the controller makes has a label that names its owner's shard.
	ByLabel bool
	Waits   func() bool // whether others are at work, so that this replica must wait and is ready all the same
}

// AddSharding adds the flags for a program whose controller looks at Parts.Shards. It comes before Flags.Validate.
func (f *Flags) AddSharding(fs *pflag.FlagSet) {
	s := &f.Sharding
	fs.IntVar(&s.Count, "shards", 0,
		"let all replicas work, each on some of so many shards: 256 is good, and 512 the most with --shard-by=label; "+
			"without it there are none; not with --leader-elect")
	fs.StringVar(&s.By, "shard-by", "namespace", "what the shards divide objects by: namespace; uid; or label: by uid, "+
		"and what the controller makes by a label")
	fs.StringVar(&s.Identity, "shard-identity", "",
		"name of this replica, which must be no other's; without it the host's, which is the Pod's")
}

func (s *Sharding) validate(fs *pflag.FlagSet, e *Election) error {
	switch {
	case fs.Changed("shards") && (s.Count < 1 || s.Count > 1<<14):
		return fmt.Errorf("--shards: want 1 to %d, got %d; without the flag there are none", 1<<14, s.Count)
	case s.By == "label" && s.Count > maxLabels:
		return fmt.Errorf("--shards: want at most %d with --shard-by=label, got %d", maxLabels, s.Count)
	case s.Count > 0 && e.Enabled:
		return errors.New("--shards and --leader-elect: want one of the two: all replicas work, or one")
	case s.Count == 0 && fs.Changed("shard-by"), s.Count == 0 && fs.Changed("shard-identity"):
		return errors.New("--shard-by and --shard-identity: have no use without --shards")
	case !slices.Contains([]string{"namespace", "uid", "label"}, s.By) && s.Count > 0:
		return fmt.Errorf("--shard-by: want namespace, uid or label, got %q", s.By)
	}
	if errs := validation.IsDNS1123Subdomain(s.Identity); s.Identity != "" && len(errs) > 0 {
		return fmt.Errorf("--shard-identity: want a DNS subdomain, got %q: %s", s.Identity, strings.Join(errs, "; "))
	}
	return nil
}

// newShards makes what the controller needs. Its client is its own: a member renews its Lease whatever else is sent.
func newShards(cfg *rest.Config, f *Flags) (*Shards, error) {
	namespace, err := f.Election.namespaceOr(podNamespaceFile, f.Namespace)
	if err != nil {
		return nil, err
	}
	identity := f.Sharding.Identity
	if identity == "" {
		if identity, err = os.Hostname(); err != nil {
			return nil, err
		}
		identity = strings.ToLower(identity)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // a member that gets many shards writes a Lease for each
	client, err := coordinationv1client.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	by := shard.Namespace
	if f.Sharding.By != "namespace" {
		by = shard.UID
	}
	m := &mode{client: client, namespace: namespace, name: f.Election.Name, candidate: "shards-by-" + f.Sharding.By,
		lasts: f.Election.Lease}
	return &Shards{Leases: m, By: by, ByLabel: f.Sharding.By == "label", Waits: m.waits, Member: shards.Options{
		Namespace: namespace, Name: f.Election.Name, Identity: identity, Shards: f.Sharding.Count,
		LeaseDuration: f.Election.Lease,
	}}, nil
}
