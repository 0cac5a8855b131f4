// Package limiters has the rate limiters of a workqueue: they decide how long an item that failed waits.
//
//	AddRateLimited(item) ──▶ When(item): count one more failure ──▶ AddAfter(item, delay)
//	Forget(item)         ──▶ Forget(item): the count is 0 again
//
// # Guarantees
//
//   - All limiters are safe for concurrent use.
//   - A limiter remembers the last [DefaultMaxTracked] items that failed, see [Counts]. More do not fill the memory.
//   - By structure they are client-go's TypedRateLimiters.
//
// # Not guaranteed
//
//   - That an item is counted for ever: one that was evicted starts anew.
package limiters
