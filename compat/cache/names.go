package cache

import clientgo "k8s.io/client-go/tools/cache"

// NewInformerName takes a name for an informer's metrics. It fails if the name is taken. The register is client-go's: a
// name is one of the whole process, whichever package's informers bear it.
func NewInformerName(name string) (*InformerName, error) { return clientgo.NewInformerName(name) }

// ResetInformerNamesForTesting releases all names, client-go's register being the one there is.
func ResetInformerNamesForTesting() { clientgo.ResetInformerNamesForTesting() }
