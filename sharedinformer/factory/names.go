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
	name     string
	reserved sync.Map // the resources
}

// informerNames are the names of the process, each with its *InformerName.
var informerNames sync.Map

// NewInformerName reserves a name until it is released. It is an error if the name is empty or taken (ErrNameTaken).
func NewInformerName(name string) (*InformerName, error) {
	if name == "" {
		return nil, errors.New("the name of informers is empty")
	}
	n := &InformerName{name: name}
	if _, taken := informerNames.LoadOrStore(name, n); taken {
		return nil, fmt.Errorf("informers %q: %w", name, ErrNameTaken)
	}
	return n, nil
}

// Name returns the name.
func (n *InformerName) Name() string { return n.name }

// Reserve returns the full name of the informer on a resource, for [sharedinformer.Options].Name: "name/resource". It
// is an error if that was reserved and not freed (ErrNameTaken), or if n was released.
func (n *InformerName) Reserve(resource string) (string, error) {
	full := n.name + "/" + resource
	if owner, _ := informerNames.Load(n.name); owner != n {
		return "", fmt.Errorf("informer %q: the name was released", full)
	}
	if _, taken := n.reserved.LoadOrStore(resource, true); taken {
		return "", fmt.Errorf("informer %q: %w", full, ErrNameTaken)
	}
	return full, nil
}

// Free takes a Reserve back: the informer on that resource is gone.
func (n *InformerName) Free(resource string) { n.reserved.Delete(resource) }

// Release gives the name back, for others to take. n is of no use afterwards; a second call does nothing.
func (n *InformerName) Release() { informerNames.CompareAndDelete(n.name, n) }
