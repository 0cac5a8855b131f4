// Package proxy stands between an API server and its clients. It injects the faults of networks, load balancers,
// overloaded servers and restored backups into lists and watches. It cuts streams into frames, so that a fault hits its
// target.
//
//	client ──HTTP──▶ Proxy ──http.RoundTripper──▶ API server
//	                   │
//	                   ├ a request   dropped, refused with 410, 429, 500, 502 or 503
//	                   ├ a list      cut in the middle, garbled, inflated, slow
//	                   └ a watch     slow; a frame cut, garbled, inflated, sent twice; bookmarks late, twice or never
//
// A [Fault] is planned and fires at the first opportunity that fits it; [Options].Fired is called then. The proxy
// itself is deterministic: only the caller's plan is random.
//
// # What a client can survive, and what not
//
// The proxy never tells a lie that no client could see through:
//
//   - A bookmark comes late, twice, or again after newer ones, even the one that ends initial events. It never comes
//     before an event that is not sent yet. A client must trust a bookmark.
//   - An event comes again at once, or after events of other objects. It does not come after a newer event of the same
//     object, for that would be a new state.
//   - Garbage replaces an event at most once before an event comes through. A client could never read an event that is
//     garbage each time.
//   - Garbage has no readable name. An event with a readable name and an unreadable object is a bad object, not a
//     network fault. The informer misses that object until its next version.
//   - After [Proxy.Restored], the first watches from an older version get a sign. It is a 410, as of a server with a
//     compacted history, or a bookmark with the server's version. A server without a sign is silent until it reaches
//     that version again, and a client cannot distinguish it from an idle one.
package proxy
