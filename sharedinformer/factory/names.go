package factory

import (
	"errors"
	"fmt"
	"sync"
)

// ErrNameTaken: somebody else in the process has that name.
var ErrNameTaken = errors.New("name is taken")

// InformerName is a name that only one part of the process has: its informers carry it in front of their own, so that
// their metrics are not mistaken for another part's. It is safe for concurrent use.
type InformerName struct {
	name string

	mu       sync.Mutex // protects what follows
	reserved map[string]bool
	released bool
}

// informerNames are the names of the process.
var informerNames struct {
	mu    sync.Mutex // protects taken
	taken map[string]bool
}

// NewInformerName reserves a name until it is released. It is an error if the name is empty or taken (ErrNameTaken).
func NewInformerName(name string) (*InformerName, error) {
	if name == "" {
		return nil, errors.New("the name of informers is empty")
	}
	informerNames.mu.Lock()
	defer informerNames.mu.Unlock()
	if informerNames.taken[name] {
		return nil, fmt.Errorf("informers %q: %w", name, ErrNameTaken)
	}
	if informerNames.taken == nil {
		informerNames.taken = map[string]bool{}
	}
	informerNames.taken[name] = true
	return &InformerName{name: name, reserved: map[string]bool{}}, nil
}

// Name returns the name.
func (n *InformerName) Name() string { return n.name }

// Reserve returns the full name of the informer on a resource, for [sharedinformer.Options].Name: "name/resource". It is an error if that
// was reserved and not freed (ErrNameTaken), or if n was released.
func (n *InformerName) Reserve(resource string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	full := n.name + "/" + resource
	if n.released {
		return "", fmt.Errorf("informer %q: the name was released", full)
	}
	if n.reserved[resource] {
		return "", fmt.Errorf("informer %q: %w", full, ErrNameTaken)
	}
	n.reserved[resource] = true
	return full, nil
}

// Free takes a Reserve back: the informer on that resource is gone.
func (n *InformerName) Free(resource string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.reserved, resource)
}

// Release gives the name back, for others to take. n is of no use afterwards; a second call does nothing.
func (n *InformerName) Release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.released {
		return
	}
	n.released = true
	informerNames.mu.Lock()
	defer informerNames.mu.Unlock()
	delete(informerNames.taken, n.name)
}
