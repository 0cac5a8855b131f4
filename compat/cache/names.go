package cache

import clientgo "k8s.io/client-go/tools/cache"

// NewInformerName reserves a name for an informer's metrics. It fails if the name is taken. The registry is
// client-go's, so names are unique in the process, for informers of both packages.
func NewInformerName(name string) (*InformerName, error) { return clientgo.NewInformerName(name) }

// ResetInformerNamesForTesting releases all names, client-go's included.
func ResetInformerNamesForTesting() { clientgo.ResetInformerNamesForTesting() }
