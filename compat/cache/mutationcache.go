package cache

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"glasswatch/indexer"
	"glasswatch/indexer/mutationcache"
)

// mutationCache is glasswatch's mutationcache.Cache.
type mutationCache struct {
	// MutationCache is nil. It is here for client-go's unexported method, which nobody calls and nobody else can write.
	clientgo.MutationCache

	overlay *mutationcache.Cache[string, any]
	indexer Indexer // may be nil
	logger  klog.Logger
}

// NewIntegerResourceVersionMutationCache is NewIntegerResourceVersionMutationCacheWithOptions for at most 100 mutations.
func NewIntegerResourceVersionMutationCache(logger klog.Logger, backingCache Store, indexer Indexer, ttl time.Duration, includeAdds bool) MutationCache {
	return NewIntegerResourceVersionMutationCacheWithOptions(logger, backingCache, MutationCacheOptions{
		Indexer: indexer, TTL: ttl, IncludeAdds: includeAdds,
	})
}

// NewIntegerResourceVersionMutationCacheWithOptions returns an overlay of a program's own writes over backingCache, for
// objects whose resourceVersions are integers. A version that is not an integer is reported to logger, and the object
// of backingCache is used.
func NewIntegerResourceVersionMutationCacheWithOptions(logger klog.Logger, backingCache Store, options MutationCacheOptions) MutationCache {
	c := &mutationCache{indexer: options.Indexer, logger: logger}
	c.overlay = mutationcache.New(mutationBacking{backingCache, options.Indexer, c}, mutationcache.Options[string, any]{
		KeyFunc:     DeletionHandlingMetaNamespaceKeyFunc,
		Compare:     compareVersions,
		Same:        sameUID,
		TTL:         options.TTL,
		MaxSize:     options.MaxCacheSize,
		IncludeAdds: options.IncludeAdds,
		OnError:     func(key string, err error) { c.report(err, key) },
	})
	return c
}

// GetByKey returns the newer of the backing store's object under key and the written one. The error is always nil.
func (c *mutationCache) GetByKey(key string) (item any, exists bool, err error) {
	item, exists = c.overlay.GetByKey(key)
	return item, exists, nil
}

// ByIndex returns the objects whose newer versions are filed under indexKey. It is an error if there is no such index.
func (c *mutationCache) ByIndex(indexName, indexKey string) ([]any, error) {
	if c.indexer == nil {
		return nil, errors.New("no indexer has been provided to the mutation cache")
	}
	return c.overlay.ByIndex(indexName, indexKey)
}

// Mutation remembers obj, the server's answer to a write.
func (c *mutationCache) Mutation(obj any) { c.reportOf(obj, c.overlay.Mutation(obj)) }

// OnAddOrUpdate notes that the backing store has obj.
func (c *mutationCache) OnAddOrUpdate(obj runtime.Object) {
	c.reportOf(obj, c.overlay.OnAddOrUpdate(obj))
}

// OnDelete notes that obj is deleted.
func (c *mutationCache) OnDelete(obj runtime.Object) { c.reportOf(obj, c.overlay.OnDelete(obj)) }

func (c *mutationCache) reportOf(obj any, err error) {
	if err != nil {
		key, _ := DeletionHandlingMetaNamespaceKeyFunc(obj)
		c.report(err, key)
	}
}

func (c *mutationCache) report(err error, key string) {
	utilruntime.HandleErrorWithLogger(c.logger, err, "A mutation is ignored", "key", key)
}

// mutationBacking shows a mutation cache's two stores as one.
type mutationBacking struct {
	store   Store
	indexer Indexer // may be nil
	cache   *mutationCache
}

// GetByKey implements mutationcache.Backing.
func (b mutationBacking) GetByKey(key string) (any, bool) {
	obj, exists, err := b.store.GetByKey(key)
	if err != nil {
		b.cache.report(err, key)
		return nil, false
	}
	return obj, exists
}

// ByIndex implements mutationcache.Backing.
func (b mutationBacking) ByIndex(name, value string) ([]any, error) {
	return b.indexer.ByIndex(name, value)
}

// GetIndexers implements mutationcache.Backing.
func (b mutationBacking) GetIndexers() indexer.Indexers[any] {
	return nativeIndexers[any](b.indexer.GetIndexers())
}

// compareVersions orders two versions of an object. One without a resourceVersion is older than any other.
func compareVersions(a, b any) (int, error) {
	va, vb, err := twoMetas(a, b)
	if err != nil {
		return 0, err
	}
	switch a, b := va.GetResourceVersion(), vb.GetResourceVersion(); {
	case a == b:
		return 0, nil
	case a == "":
		return -1, nil
	case b == "":
		return 1, nil
	default:
		return resourceversion.CompareResourceVersion(a, b)
	}
}

func sameUID(a, b any) bool {
	ma, mb, err := twoMetas(a, b)
	return err == nil && ma.GetUID() == mb.GetUID()
}

func twoMetas(a, b any) (ma, mb metav1.Object, err error) {
	if ma, err = meta.Accessor(a); err == nil {
		mb, err = meta.Accessor(b)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("comparing versions: %w", err)
	}
	return ma, mb, nil
}
