package sharding

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

	"glasswatch/cmd/internal/operator"
	"glasswatch/controller/ingress/sharded"
	"glasswatch/controller/shards"
	"glasswatch/listwatch/shard"
)

// maxLabels is for --shard-by=label: a selector names the labels of all, which is 5 kB of a URL.
const maxLabels = 512

// Flags say into how many shards to divide, by what, and who this replica is.
type Flags struct {
	Count    int    // 0 is none: one replica works
	By       string // "namespace", "uid" or "label"
	Identity string // of this replica; "" is the host's name
}

// AddTo adds them to fs, which has those of package operator.
func (f *Flags) AddTo(fs *pflag.FlagSet) {
	fs.IntVar(&f.Count, "shards", 0,
		"let all replicas work, each on some of so many shards: 256 is good, and 512 the most with --shard-by=label; "+
			"without it there are none; not with --leader-elect")
	fs.StringVar(&f.By, "shard-by", "namespace", "what the shards divide objects by: namespace; uid; or label: by uid, "+
		"and what the controller makes by a label")
	fs.StringVar(&f.Identity, "shard-identity", "",
		"name of this replica, which must be no other's; without it the host's, which is the Pod's")
	fs.Lookup("leader-elect-lease-duration").Usage =
		"how long others wait for a leader, or with --shards for a replica, that is silent"
}

// Validate says what is wrong with the parsed command line, shared is the rest of it. Replicas with shards use name,
// namespace and duration of the election's lease.
func (f *Flags) Validate(fs *pflag.FlagSet, shared *operator.Flags) error {
	switch {
	case fs.Changed("shards") && (f.Count < 1 || f.Count > shards.MaxShards):
		return fmt.Errorf("--shards: want 1 to %d, got %d; without the flag there are none", shards.MaxShards, f.Count)
	case f.Count > 0:
		return errors.Join(shared.ValidateBeside(fs), f.validate(), validateElection(fs, &shared.Election))
	case fs.Changed("shard-by"), fs.Changed("shard-identity"):
		return errors.New("--shard-by and --shard-identity: have no use without --shards")
	}
	return shared.Validate(fs)
}

func (f *Flags) validate() error {
	if !slices.Contains([]string{"namespace", "uid", "label"}, f.By) {
		return fmt.Errorf("--shard-by: want namespace, uid or label, got %q", f.By)
	}
	if f.By == "label" && f.Count > maxLabels {
		return fmt.Errorf("--shards: want at most %d with --shard-by=label, got %d", maxLabels, f.Count)
	}
	if errs := validation.IsDNS1123Subdomain(f.Identity); f.Identity != "" && len(errs) > 0 {
		return fmt.Errorf("--shard-identity: want a DNS subdomain, got %q: %s", f.Identity, strings.Join(errs, "; "))
	}
	return nil
}

func validateElection(fs *pflag.FlagSet, e *operator.Election) error {
	if e.Enabled {
		return errors.New("--shards and --leader-elect: want one of the two: all replicas work, or one")
	}
	err := operator.Refuse(fs, "has no use with --shards, which derives it from --leader-elect-lease-duration",
		"leader-elect-renew-deadline", "leader-elect-retry-period")
	if err != nil {
		return err
	}
	if err := e.ValidateLease(); err != nil {
		return err
	}
	// A label of each replica's and each shard's Lease has it.
	if errs := validation.IsValidLabelValue(e.Name); len(errs) > 0 {
		return fmt.Errorf("--leader-elect-name: want what can be a label with --shards, got %q: %s",
			e.Name, strings.Join(errs, "; "))
	}
	return nil
}

// New makes what the controller needs. Its client is its own: a member renews its Lease whatever else is sent.
func (f *Flags) New(cfg *rest.Config, shared *operator.Flags) (s sharded.Sharding, err error) {
	namespace, err := shared.LeaseNamespace()
	if err != nil {
		return s, err
	}
	identity := f.Identity
	if identity == "" {
		if identity, err = os.Hostname(); err != nil {
			return s, err
		}
		identity = strings.ToLower(identity)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // a member that gets many shards writes a Lease for each
	client, err := coordinationv1client.NewForConfig(cfg)
	if err != nil {
		return s, err
	}
	by := shard.Namespace
	if f.By != "namespace" {
		by = shard.UID
	}
	name, lasts := shared.Election.Name, shared.Election.Lease
	m := &mode{client: client, namespace: namespace, name: name, candidate: "shards-by-" + f.By, lasts: lasts}
	return sharded.Sharding{Leases: m, By: by, ByLabel: f.By == "label", Waits: m.waits, Member: shards.Options{
		Namespace: namespace, Name: name, Identity: identity, Shards: f.Count, LeaseDuration: lasts,
	}}, nil
}
