package cache

//lint:file-ignore SA1019 Programs that use the deprecated names are served, too.

import (
	"time"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// The names in this file are client-go's types and functions themselves: glasswatch's layers have no machinery for
// them. They are documented there.

type (
	// FIFO is client-go's, see there.
	FIFO = clientgo.FIFO
	// Heap is client-go's, see there.
	Heap = clientgo.Heap
	// ExpirationCache is client-go's, see there.
	ExpirationCache = clientgo.ExpirationCache
)

// NewFIFO is client-go's, see there.
func NewFIFO(keyFunc KeyFunc) *FIFO { return clientgo.NewFIFO(keyFunc) }

// NewHeap is client-go's, see there.
func NewHeap(keyFn KeyFunc, lessFn LessFunc) *Heap { return clientgo.NewHeap(keyFn, lessFn) }

// NewTTLStore is client-go's, see there.
func NewTTLStore(keyFunc KeyFunc, ttl time.Duration) Store { return clientgo.NewTTLStore(keyFunc, ttl) }

// NewExpirationStore is client-go's, see there.
func NewExpirationStore(keyFunc KeyFunc, expirationPolicy ExpirationPolicy) Store {
	return clientgo.NewExpirationStore(keyFunc, expirationPolicy)
}

// NewFakeExpirationStore is client-go's, see there.
func NewFakeExpirationStore(keyFunc KeyFunc, deletedKeys chan<- string, expirationPolicy ExpirationPolicy, cacheClock clock.Clock) Store {
	return clientgo.NewFakeExpirationStore(keyFunc, deletedKeys, expirationPolicy, cacheClock)
}

// NewUndeltaStore is client-go's, see there.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return clientgo.NewUndeltaStore(pushFunc, keyFunc)
}

// NewRetryWithDeadline is client-go's, see there.
func NewRetryWithDeadline(maxRetryDuration, minResetPeriod time.Duration, isRetryable func(error) bool, clock clock.Clock) RetryWithDeadline {
	return clientgo.NewRetryWithDeadline(maxRetryDuration, minResetPeriod, isRetryable, clock)
}
