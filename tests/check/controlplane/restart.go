package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// KillAPIServer ends the API server and the controllers with SIGKILL; if split, etcd goes on.
func (p *Plane) KillAPIServer() { p.apiserver.kill() }

// KillEtcd ends etcd with SIGKILL. It panics if the Plane is not split.
func (p *Plane) KillEtcd() {
	if !p.options.Split {
		panic("etcd has no process of its own: use StartSplit")
	}
	p.etcd.kill()
}

// StartEtcd starts it again on its port and data, and returns when it takes requests. It panics if it runs.
func (p *Plane) StartEtcd() (err error) {
	p.etcd.mustHaveEnded("etcd")
	p.etcd, err = p.launch("etcd")
	return err
}

// StartAPIServer starts it and the controllers again on the same port and data, and returns when it is ready. It panics if it
// runs.
func (p *Plane) StartAPIServer() (err error) {
	p.apiserver.mustHaveEnded("the API server")
	components := []string{"apiserver"}
	if !p.options.Split {
		components = append(components, "etcd")
	}
	if !p.options.Bare {
		components = append(components, "controllers")
	}
	p.apiserver, err = p.launch(components...)
	return err
}

func (p *Plane) launch(components ...string) (*process, error) {
	log, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"--dir", p.dir, "--ports", p.ports.String(), "--components", strings.Join(components, ","), "--stop-with-stdin"}
	if slices.Contains(components, "etcd") { // the last one cleans up, even without a call of Stop
		args = append(args, "--remove-dir")
	}
	if p.options.FeatureGates != "" {
		args = append(args, "--feature-gates", p.options.FeatureGates)
	}
	proc, err := launch(log, p.binary, args...)
	if err != nil {
		return nil, fmt.Errorf("control plane %v (is bin/controlplane up to date? make controlplane): %w", components, err)
	}
	return proc, nil
}

func (p *Plane) logPath() string { return filepath.Join(p.dir, "log") }

// Log is the end of the output of the control plane's processes.
func (p *Plane) Log() string {
	const most = 8 << 10
	raw, err := os.ReadFile(p.logPath())
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-most):])
}
