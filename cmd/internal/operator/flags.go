package operator

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/cmd/internal/logging"
)

// Flags are those that all controller programs have.
type Flags struct {
	Cluster     cluster.Flags
	Namespace   string // the one to look at; "" is all
	Workers     int
	MetricsAddr string
	HealthAddr  string
	Election    Election
	Log         logging.Flags
}

// AddTo adds them to fs, whose name is that of the program.
func (f *Flags) AddTo(fs *pflag.FlagSet) {
	fs.StringVar(&f.Cluster.Kubeconfig, "kubeconfig", "",
		"path of a kubeconfig; without it $KUBECONFIG, else the Pod's own service account")
	fs.StringVar(&f.Cluster.Context, "context", "", "context of the kubeconfig; without it the current one")
	fs.BoolVar(&f.Cluster.Insecure, "insecure-skip-tls-verify", false,
		"do not check the API server's certificate; anybody on the way can read and write")
	fs.StringVarP(&f.Namespace, "namespace", "n", "", "the one namespace to look at; without it all")
	fs.IntVar(&f.Workers, "workers", 2, "how many objects are worked on at the same time")
	fs.StringVar(&f.MetricsAddr, "metrics-addr", "127.0.0.1:8080", "address of /metrics; empty for none")
	fs.StringVar(&f.HealthAddr, "health-addr", "127.0.0.1:8081", "address of /healthz and /readyz; likewise")
	f.Election.addTo(fs)
	f.Log.AddTo(fs)
}

// Validate says what is wrong with the parsed command line.
func (f *Flags) Validate(fs *pflag.FlagSet) error {
	return errors.Join(f.ValidateBeside(fs), f.Election.validate(fs))
}

// ValidateBeside is Validate without the flags of the election, for a program that uses its lease in another way.
func (f *Flags) ValidateBeside(fs *pflag.FlagSet) error {
	if fs.NArg() > 0 {
		return fmt.Errorf("want flags only, got %q", fs.Arg(0))
	}
	if f.Workers < 1 {
		return fmt.Errorf("--workers: want at least 1, got %d", f.Workers)
	}
	if errs := validation.IsDNS1123Label(f.Namespace); f.Namespace != "" && len(errs) > 0 {
		return fmt.Errorf("--namespace: want a namespace's name, got %q: %s", f.Namespace, strings.Join(errs, "; "))
	}
	return errors.Join(f.Log.Validate(), checkAddress("metrics-addr", f.MetricsAddr),
		checkAddress("health-addr", f.HealthAddr))
}

func checkAddress(flag, address string) error {
	if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
		return fmt.Errorf("--%s: want host:port or nothing, got %q: %w", flag, address, err)
	}
	return nil
}

// InProcess is for a program that brings its own API server. It refuses the flags that name a cluster, and uses free
// ports unless others are given, so that a demo does not fail because a port is taken.
func (f *Flags) InProcess(fs *pflag.FlagSet) error {
	if err := Refuse(fs, "an in-process API server needs none",
		"kubeconfig", "context", "insecure-skip-tls-verify", "leader-elect"); err != nil {
		return err
	}
	for name, addr := range map[string]*string{"metrics-addr": &f.MetricsAddr, "health-addr": &f.HealthAddr} {
		if !fs.Changed(name) {
			*addr = "127.0.0.1:0"
		}
	}
	return nil
}

// Refuse returns an error, with the reason, if one of these flags was given.
func Refuse(fs *pflag.FlagSet, reason string, names ...string) error {
	for _, name := range names {
		if fs.Changed(name) {
			return fmt.Errorf("--%s: %s", name, reason)
		}
	}
	return nil
}
