package controlplane

import (
	"fmt"
	"os"
)

// Places in ports: of the API server's port, of etcd's for its clients, and of etcd's for its peers.
const (
	apiPort = iota
	etcdPort
	peerPort
)

// ports belong to a Plane from before its first process starts until its last has ended. Sockets that do not listen
// hold them, and share them with the processes. Otherwise the kernel may give a port to another listener or connection
// before a process uses it, or while the process is down.
type ports struct {
	numbers [3]int
	sockets [3]*os.File
}

func holdPorts() (*ports, error) {
	p := &ports{}
	for n := range p.numbers {
		var err error
		if p.sockets[n], p.numbers[n], err = holdPort(); err != nil {
			p.release()
			return nil, fmt.Errorf("hold a port of 127.0.0.1: %w", err)
		}
	}
	return p, nil
}

// release may be called more than once.
func (p *ports) release() {
	for _, s := range p.sockets {
		_ = s.Close() // nothing was written to it
	}
}

// String is what the program takes for its flag --ports.
func (p *ports) String() string {
	return fmt.Sprintf("%d,%d,%d", p.numbers[apiPort], p.numbers[etcdPort], p.numbers[peerPort])
}
