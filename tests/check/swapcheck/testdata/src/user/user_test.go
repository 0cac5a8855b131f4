package user

import "k8s.io/client-go/tools/cache"

var _ = cache.NewStore(nil) // want "cache.NewStore"
