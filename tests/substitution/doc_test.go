// Package substitution plays one story on every combination of our reflector, queue, store and low-level controller
// with client-go's.
//
//	memserver ─▶ reflector ─▶ queue ─▶ controller ─▶ process ─▶ store
//	                                                    └─────▶ diary: what the story expects
//
// Each of the four is client-go's or ours, in every combination. Ours come from compat/cache, whose types are
// client-go's contracts, so most combinations are plain assignments. Each kind of queue is tried, with streaming and
// with paged lists. Then come whole informers, our native ones included.
//
// A low-level controller makes its own reflector. Where the story needs the other side's, that one feeds the queue. The
// controller's own waits for a server that never answers.
//
// Shutting down is part of the story: each runs in a bubble of virtual time, which ends only when every goroutine has.
package substitution
