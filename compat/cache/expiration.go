package cache

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// ExpirationCache is a Store whose objects expire: each is stamped when it is stored, and whoever reads one that its
// policy calls expired removes it. ListKeys names expired objects that nobody has read. All methods may be called from any
// goroutine.
type ExpirationCache struct {
	keyFunc KeyFunc
	clock   clock.Clock
	policy  ExpirationPolicy
	// onExpired is told of each object that was removed because it had expired, with the lock held. May be nil.
	onExpired func(key string)

	// mu is held from a policy's verdict to the removal, so that a version stored meanwhile is not removed for an older
	// one's age. It is held while the policy is asked.
	mu    sync.Mutex
	store ThreadSafeStore // of *TimestampedEntry
}

var _ Store = (*ExpirationCache)(nil)

// NewTTLStore returns a Store of objects that keyFunc names and that expire when they were stored longer than ttl ago; never
// if ttl is not above 0.
func NewTTLStore(keyFunc KeyFunc, ttl time.Duration) Store {
	return NewExpirationStore(keyFunc, &TTLPolicy{TTL: ttl, Clock: clock.RealClock{}})
}

// NewExpirationStore returns a Store of objects that keyFunc names and that expire as expirationPolicy says, which must not
// call the store.
func NewExpirationStore(keyFunc KeyFunc, expirationPolicy ExpirationPolicy) Store {
	return newExpirationCache(keyFunc, expirationPolicy, clock.RealClock{})
}

// NewFakeExpirationStore is NewExpirationStore that stamps by cacheClock, and sends the key of each object that expired
// and was removed to deletedKeys, in the goroutine of the reader. deletedKeys may be nil.
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

// Add stores obj, stamped, under its key. The error is a KeyError.
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

// Replace makes list, stamped, the whole content. If one of its objects has no key, nothing changes and the error is a
// KeyError.
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

// ListKeys returns all keys, those of expired objects that nobody has read among them.
func (c *ExpirationCache) ListKeys() []string { return c.store.ListKeys() }

// LastStoreSyncResourceVersion returns what the last Replace, Bookmark or Delete named.
func (c *ExpirationCache) LastStoreSyncResourceVersion() string {
	return c.store.LastStoreSyncResourceVersion()
}

// Bookmark says that the store has reached rv.
func (c *ExpirationCache) Bookmark(rv string) { c.store.Bookmark(rv) }

// Resync does nothing.
func (c *ExpirationCache) Resync() error { return nil }
