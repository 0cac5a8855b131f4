// Package proxy stands between the clients of an API server and the server, and does to lists and watches what networks,
// load balancers, overloaded servers and restored backups do. It knows the wire: it cuts streams into frames, so that a
// fault hits what it is meant for.
//
//	client ──HTTP──▶ Proxy ──http.RoundTripper──▶ API server
//	                   │
//	                   ├ a request   dropped, refused with 410, 429, 500, 502 or 503
//	                   ├ a list      cut in the middle, garbled, inflated, slow
//	                   └ a watch     slow; a frame cut, garbled, inflated, sent twice; bookmarks late, twice or never
//
// A [Fault] is planned and fires at the first opportunity that fits it; [Options].Fired is told when it has. Nothing is left
// to chance here: what is random is what the caller plans.
//
// # What a client can survive, and what not
//
// The proxy never tells a lie that no client could see through:
//
//   - A bookmark comes late, twice, or again after newer ones, the one that ends initial events too; never ahead of an event
//     that is not sent yet. A client must believe what a bookmark says.
//   - An event comes again at once, or after events of other objects; not after a newer event of the same object, which would
//     be a new state.
//   - Garbage comes in the place of an event at most once before an event comes through. Of an event that is garbage
//     each time it is asked for nobody can tell what it was.
//   - Garbage has no readable name. An event whose object can be named and not be read is a bad object, and not a bad
//     network: it costs this object until its next version.
//   - After [Proxy.Restored], the first watches from a version of before are told so: by a 410, as of a server whose history was
//     marked as compacted when the backup was restored, or by a bookmark with the server's version. A server that says nothing
//     is silent until it has come to that version again, and nobody could tell it from one that has nothing to say.
package proxy
