// Package transform has transforms for an informer's Options.Transform, which make cached objects smaller: leave out what
// nobody reads, then share what is equal.
//
//	as decoded ─▶ StripManagedFields ─▶ KeepAnnotations ─▶ … ─▶ Share ─▶ queue, store, handlers
//	                                                             │ ▲
//	                                       equal parts of other  ▼ │
//	                                       objects:            [ table ]
//
// A transform is a func(T) (T, error), with nothing to it; [Chain] makes one of many. [Share] takes the others as its
// arguments, so that it is always the last: a transform after it would write into what other objects hold, too.
//
// An informer shares the parts of what it decodes by itself, see Sharing in its options: [Share] is for objects that a
// transform has written into, and for others that come from elsewhere.
//
// # What is guaranteed
//
//   - An object is deeply equal before and after it was shared, nil and empty told apart.
//   - Strings, slices, maps and what pointers lead to are shared, if they are equal in every bit. A shared slice has no room
//     behind its end: who appends to it, gets a slice of his own.
//   - A resource.Quantity that a pointer or a slice leads to is left alone, and so is all that holds it: it writes itself
//     when it is printed. One in a map cannot be written, only copied out.
//   - The table is bounded: see [SharerOptions]. What it holds goes with the Sharer.
//   - A Sharer may serve many informers, and be called from any goroutine.
//
// # What is not
//
//   - Anything if objects are modified, as always with cached objects; here it is other objects that change as well.
//   - Anything if an object, or a map in it, that others read already is given to Share, as for a second time: it writes into
//     maps to share their parts. What a watch or a list has decoded is nobody else's.
//   - That objects of a checkpoint share: they are not transformed again, and each has its own parts until its next version.
//   - That all that is equal is shared. What the table forgot, because so much else came since, is kept twice when it
//     comes again.
//   - That deleted objects are free at once: their parts stay in the table until others push them out.
//
// # Where client-go differs
//
// It has no transforms, and shares nothing between objects. On a streaming list it transforms each object twice; here once.
package transform
