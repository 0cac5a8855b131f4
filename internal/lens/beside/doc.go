// Package beside runs client-go's informers beside ours, on the same API server and through the same faults, and finds
// the first difference that can be seen from outside.
//
//	             ┌─▶ our informers ───────▶ handler ─▶ workqueue ─┐
//	API server ──┤                            │ told              ├─▶ rows, stores, queues, first difference
//	   sent      └─▶ client-go's informers ─▶ handler ─▶ workqueue ─┘
//
// Each side has a connection of its own, a handler (ours is "audit"), and a workqueue that gets what it was told of and
// that nobody empties. A [Row] is one version of one object: what was sent to each side, and what call each handler
// got.
//
// # What counts as a difference
//
//   - call: both handlers were told of the same version of an object, after the same version, by calls that differ in
//     kind (OnAdd, OnUpdate, OnDelete) or tombstone.
//   - order: a call does not follow from the handler's call before it. An OnAdd tells of an object that it has, an
//     OnUpdate of another old version than it was told of last, an OnDelete of an object that it does not have.
//   - state, store: all is quiet, and the handlers were told of different versions last, or the stores have them.
//   - fold: all is quiet, a version was sent to both after the last request for a list or watch, and only one handler
//     was told of it.
//   - queue: all is quiet, and the queues do not have equally many keys more or less than their handlers were told of.
//
// All is quiet if every watch is open, nobody steps, neither a handler nor a request is delayed, and nothing was
// recorded for [quietAfter]. The first difference stays the first: nothing that follows takes it back.
//
// # What does not count
//
//   - Time, and the order among several objects. What was sent: after a break, one side may list and the other resume.
//   - Folding by a list. It has only the end of what happened before it: of several updates one, of a deletion and a
//     creation one update, of a creation and a deletion nothing. So what was sent before the last request may be
//     folded.
//   - Updates without another version (resyncs, lists without news), and whether an object was in the initial list.
//   - The end of an object of which the fault "drop" lost an event, until the stores agree on it again: lists repair it,
//     and the sides list at different times.
package beside
