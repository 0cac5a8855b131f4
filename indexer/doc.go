// Package indexer is a thread-safe store with indices and snapshots.
package indexer
