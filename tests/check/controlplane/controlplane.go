package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Identity is a user that the API server knows.
type Identity string

const (
	Admin      Identity = "admin"      // may do everything (system:masters)
	Controller Identity = "controller" // the service account glasswatch/ingress-controller; may do what RBAC objects let it
	Stranger   Identity = "stranger"   // may do nothing but look at discovery
)

// ErrMissing is returned by Launch where the control plane was not built.
var ErrMissing = errors.New("bin/controlplane is not there: make controlplane")

// Options of a control plane. The zero value is everything in one process.
type Options struct {
	Split bool // etcd has a process of its own
	Bare  bool // no garbage collection, and namespaces are not emptied
	// FeatureGates is the API server's --feature-gates, such as ShardedListAndWatch=true. Empty: its defaults.
	FeatureGates string
}

// Plane is a running control plane. Its methods are not safe for concurrent use.
type Plane struct {
	dir       string
	options   Options
	binary    string
	ports     *ports
	etcd      *process // nil where it runs in apiserver's process
	apiserver *process
}

// Start runs a control plane until the test ends. Without the binary the test fails.
func Start(t testing.TB) *Plane {
	t.Helper()
	return start(t, Options{})
}

// StartSplit is Start with etcd in a process of its own.
func StartSplit(t testing.TB) *Plane {
	t.Helper()
	return start(t, Options{Split: true})
}

// StartBare is Start without controllers, for a test that brings its own.
func StartBare(t testing.TB) *Plane {
	t.Helper()
	return start(t, Options{Bare: true})
}

// StartGated is Start with feature gates.
func StartGated(t testing.TB, gates string) *Plane {
	t.Helper()
	return start(t, Options{FeatureGates: gates})
}

func start(t testing.TB, o Options) *Plane {
	t.Helper()
	p, err := Launch(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.Log())
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Launch is Start for a TestMain or a program. The caller must call Stop.
func Launch(o Options) (*Plane, error) {
	binary, err := find()
	if err != nil {
		return nil, err
	}
	ports, err := holdPorts()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "controlplane-")
	if err != nil {
		ports.release()
		return nil, err
	}
	p := &Plane{dir: dir, options: o, binary: binary, ports: ports}
	if o.Split {
		err = p.StartEtcd()
	}
	if err == nil {
		err = p.StartAPIServer()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, p.Log()), p.Stop())
	}
	return p, nil
}

// find looks for bin/controlplane beside the go.mod of the main module, which is somewhere above the working directory.
func find() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module glasswatch\n")) {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("%w (and no go.mod of glasswatch above the working directory)", ErrMissing)
		}
		dir = parent
	}
	binary := filepath.Join(dir, "bin", "controlplane")
	if _, err := os.Stat(binary); err != nil {
		return "", ErrMissing
	}
	return binary, nil
}

// Kubeconfig is the path of a file that is there until Stop.
func (p *Plane) Kubeconfig(id Identity) string { return filepath.Join(p.dir, string(id)+".kubeconfig") }

// Config returns a configuration that the caller may change. It panics if the control plane was never ready.
func (p *Plane) Config(id Identity) *rest.Config {
	cfg, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig(id))
	if err != nil {
		panic(err)
	}
	return cfg
}

// EtcdURL is where etcd takes requests, over gRPC and, under /v3/, as JSON.
func (p *Plane) EtcdURL() string {
	return fmt.Sprintf("http://127.0.0.1:%d", p.ports.numbers[etcdPort])
}

// Done is closed when the API server's process has ended, for whatever reason. StartAPIServer makes another channel.
func (p *Plane) Done() <-chan struct{} { return p.apiserver.ended }

// Stop ends everything and removes the directory.
func (p *Plane) Stop() error {
	defer p.ports.release()
	return errors.Join(p.apiserver.stop(), p.etcd.stop(), os.RemoveAll(p.dir))
}
