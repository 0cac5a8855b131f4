// Package substitution tells one story to every way of putting an informer together: our reflector, queue, store and
// low-level controller, each in the place of client-go's and beside it.
//
//	memserver ─▶ reflector ─▶ queue ─▶ controller ─▶ process ─▶ store
//	                                                    └─────▶ diary: what the story expects
//
// Each of the four is client-go's or ours (by way of compat/cache, whose types are client-go's contracts, so that most of
// the joints are plain assignments), in every combination; with each kind of queue, and with streaming and with paged lists.
// Then come the informers as a whole, our native ones among them.
//
// A low-level controller makes its own reflector. Where the story wants the other side's, that one feeds the queue, and
// the controller's own is kept waiting by a server that never answers.
//
// Shutting down is part of the story: each runs in a bubble of virtual time, which ends only when every goroutine has.
package substitution
