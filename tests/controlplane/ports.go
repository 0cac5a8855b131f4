package controlplane

import (
	"fmt"
	"os"
)

// etcdPort is the place of etcd's port for clients in ports; before it is the API server's, behind it etcd's for peers.
const etcdPort = 1

// ports are a Plane's from before its first process starts until its last has ended. They are held by sockets that do not listen,
// and shared with the processes, since otherwise the kernel may give one to somebody else before a process has come to it, or
// while it is down: to a listener, or to a connection's near end.
type ports struct {
	numbers []int
	sockets []*os.File
}

func holdPorts() (*ports, error) {
	p := &ports{}
	for range 3 {
		socket, number, err := holdPort()
		if err != nil {
			p.release()
			return nil, fmt.Errorf("hold a port of 127.0.0.1: %w", err)
		}
		p.numbers, p.sockets = append(p.numbers, number), append(p.sockets, socket)
	}
	return p, nil
}

func (p *ports) release() {
	for _, s := range p.sockets {
		_ = s.Close() // it is written to by nobody
	}
}

// String is what the program takes for its flag --ports.
func (p *ports) String() string {
	return fmt.Sprintf("%d,%d,%d", p.numbers[0], p.numbers[etcdPort], p.numbers[2])
}
