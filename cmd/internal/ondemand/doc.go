// Package ondemand keeps informers on any kinds of a cluster: the first reader of a kind starts one, and it stops some
// time after the last one left.
//
//	Enter ──▶ running? ──no──▶ discovery: is it there? ──▶ informer ──▶ Ready ──▶ read ──▶ Leave ──▶ idle ──▶ stopped
//
// # What is guaranteed
//
//   - One informer a resource, however many readers come at the same time, and at most Options.Max of them.
//     At the limit, the one that has been without a reader for the longest time gives way.
//   - Ready gives no error only if the first list is in the store. Otherwise an empty store would look like an empty
//     cluster.
//   - A resource that is gone is an error, and its informer stops. So is one that may not be read any more.
//   - A kind that is not there, or may not be read, is asked for once in five seconds.
//   - Close returns when all informers have ended.
//   - An object is its JSON, word for word, with the few fields by which it is found: see [Object]. So a read costs a
//     copy, and an object takes less memory than as a map.
package ondemand
