package cache

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// ExpirationCache is a Store whose objects expire. Each object gets a timestamp when it is stored. A read of an object
// that has expired by the policy removes it. ListKeys includes expired objects that were not read. All methods may be
// called from any goroutine.
type ExpirationCache struct {
	keyFunc KeyFunc
	clock   clock.Clock
	policy  ExpirationPolicy
	// onExpired is called for each expired object that was removed, with the lock held. May be nil.
	onExpired func(key string)

	// mu is held while the policy decides and until the removal. So a version stored meanwhile is not removed for an
	// older one's age.
	mu    sync.Mutex
	store ThreadSafeStore // of *TimestampedEntry
}

var _ Store = (*ExpirationCache)(nil)

// NewTTLStore returns a Store of objects that keyFunc names. Objects expire when their age exceeds ttl; never if ttl is
// not above 0.
func NewTTLStore(keyFunc KeyFunc, ttl time.Duration) Store {
	return NewExpirationStore(keyFunc, &TTLPolicy{TTL: ttl, Clock: clock.RealClock{}})
}

// NewExpirationStore returns a Store of objects that keyFunc names. expirationPolicy decides when objects expire; it
// must not call the store.
func NewExpirationStore(keyFunc KeyFunc, expirationPolicy ExpirationPolicy) Store {
	return newExpirationCache(keyFunc, expirationPolicy, clock.RealClock{})
}

// NewFakeExpirationStore is NewExpirationStore with timestamps of cacheClock. The reader's goroutine sends the key of
// each removed object that had expired to deletedKeys, which may be nil.
func NewFakeExpirationStore(keyFunc KeyFunc, deletedKeys chan<- string, expirationPolicy ExpirationPolicy, cacheClock clock.Clock) Store {
	c := newExpirationCache(keyFunc, expirationPolicy, cacheClock)
	if deletedKeys != nil {
		c.onExpired = func(key string) { deletedKeys <- key }
	}
	return c
}

func newExpirationCache(keyFunc KeyFunc, policy ExpirationPolicy, clock clock.Clock) *ExpirationCache {
	return &ExpirationCache{keyFunc: keyFunc, clock: clock, policy: policy, store: NewThreadSafeStore(Indexers{}, Indices{})}
}

// Add stores obj with a timestamp under its key. The error is a KeyError.
func (c *ExpirationCache) Add(obj any) error {
	key, err := c.keyFunc(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store.Add(key, &TimestampedEntry{Obj: obj, Timestamp: c.clock.Now()})
	return nil
}

// Update is Add.
func (c *ExpirationCache) Update(obj any) error { return c.Add(obj) }

// Delete removes what is stored under obj's key, if anything. The error is a KeyError.
func (c *ExpirationCache) Delete(obj any) error {
	key, err := c.keyFunc(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store.DeleteWithObject(key, obj)
	return nil
}

// Replace makes list the whole content, each object with a timestamp. If one of its objects has no key, nothing changes
// and the error is a KeyError.
func (c *ExpirationCache) Replace(list []any, resourceVersion string) error {
	items := make(map[string]any, len(list))
	now := c.clock.Now()
	for _, obj := range list {
		key, err := c.keyFunc(obj)
		if err != nil {
			return KeyError{Obj: obj, Err: err}
		}
		items[key] = &TimestampedEntry{Obj: obj, Timestamp: now}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store.Replace(items, resourceVersion)
	return nil
}

// Get returns the object that has obj's key, unless it has expired. The error is a KeyError.
func (c *ExpirationCache) Get(obj any) (item any, exists bool, err error) {
	key, err := c.keyFunc(obj)
	if err != nil {
		return nil, false, KeyError{Obj: obj, Err: err}
	}
	return c.GetByKey(key)
}

// GetByKey returns the object under key, unless it has expired. The error is always nil.
func (c *ExpirationCache) GetByKey(key string) (item any, exists bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	item, exists = c.liveLocked(key)
	return item, exists, nil
}

// List returns all objects that have not expired.
func (c *ExpirationCache) List() []any {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := c.store.ListKeys()
	list := make([]any, 0, len(keys))
	for _, key := range keys {
		if obj, ok := c.liveLocked(key); ok {
			list = append(list, obj)
		}
	}
	return list
}

// liveLocked returns the object under key, or removes it if it has expired.
func (c *ExpirationCache) liveLocked(key string) (any, bool) {
	item, exists := c.store.Get(key)
	if !exists {
		return nil, false
	}
	entry := item.(*TimestampedEntry)
	if !c.policy.IsExpired(entry) {
		return entry.Obj, true
	}
	c.store.Delete(key)
	if c.onExpired != nil {
		c.onExpired(key)
	}
	return nil, false
}

// ListKeys returns all keys, including those of expired objects that were not read.
func (c *ExpirationCache) ListKeys() []string { return c.store.ListKeys() }

// LastStoreSyncResourceVersion returns the version of the last Replace, Bookmark or Delete.
func (c *ExpirationCache) LastStoreSyncResourceVersion() string {
	return c.store.LastStoreSyncResourceVersion()
}

// Bookmark says that the store has reached rv.
func (c *ExpirationCache) Bookmark(rv string) { c.store.Bookmark(rv) }

// Resync does nothing.
func (c *ExpirationCache) Resync() error { return nil }
