// Package listwatch is the wire: typed lists, pages and watch streams over HTTP. It is the lowest layer, and the only one
// that knows what bytes look like.
//
//	                  ┌───────────────────────── Client[T] ─────────────────────────┐
//	List  ◀── codec ◀─┤ split into items   ◀─ body by Content-Type ◀─ GET …?limit=  │◀── rate limiter, Timeout
//	Next  ◀── codec ◀─┤ split into events  ◀─ frames               ◀─ GET …?watch=1 │◀── neither
//	                  └──────────────────────────────────────────────────────────────┘
//	   one object     one item or event       JSON: brackets
//	   at a time      at a time               protobuf: length before each
//
// [New], [NewForConfig], [NewUnstructured] and [NewMetadata] make a [Client] of one resource. [Client.List] fetches a page,
// [ListAll] all of them, and [Client.Watch] a [Stream] that is pulled. [Funcs] and [FromWatch] make the same of what
// client-go's clientsets offer, the fake one included. [NewRetryStream] is a watch that resumes by itself,
// [NewResumableWatch] one that resumes after the program was started again.
//
// # What is guaranteed
//
//   - Next decodes in its caller's goroutine. Between the socket and the caller there is no goroutine and no channel of
//     this package, and nothing is read ahead but bytes. The streams of [Client.Watch], [Funcs] and [FromWatch] are
//     [BatchStream]s, too: of what is read already, or waits in the channel, they hand out several events in one call.
//     Those of Client.Watch decode at most 16, as the first waits for the last.
//   - Events come in the server's order, each once. A [RetryStream] keeps this across its watches.
//   - Next blocks until there is an event; Close, from any goroutine, and the end of the context wake it at once, and
//     nothing is delivered after them, but for what a NextBatch that is under way has decoded.
//   - A clean end between two frames is io.EOF. Every other end is another error: a frame that breaks off, a connection
//     that is lost between frames, an ERROR event (an *apierrors.StatusError), a frame above Options.MaxFrameSize.
//   - One bad object costs one [ObjectError], in List.Bad or from Next, with its key where that can be read. What is
//     never guessed is half a key: it would name another object. Only JSON that is no JSON at all ends a stream, because
//     then nobody knows where the next event starts.
//   - A list without a resourceVersion, a Table, a list of another kind is an error and not an empty list.
//   - Objects own their memory: none points into a buffer, and keeping one item of a list does not keep the list. Those of
//     [Client.Sharing] own their fields only, and share what these lead to with each other.
//   - An answer is read by its own Content-Type, whatever was asked for. Protobuf is asked for first where T has it.
//   - An answer other than 200 is an *apierrors.StatusError with the server's own Status if it sent one, and with the
//     Retry-After header in it, for apierrors.SuggestsClientDelay.
//   - Selectors in Options and in ListOptions are both required of an object.
//
// # What is not
//
//   - No request is repeated here, except by RetryStream and by ListAll's full list after a 410.
//   - Nothing watches the clock of a watch: a server that goes silent is the reflector's business.
//   - Nothing but ResumableWatch remembers: an event may repeat what the list showed, if the caller asks for that resourceVersion.
//   - A list is in memory as a whole while it is decoded.
//   - The type of an item in a protobuf list is the list's word: items there do not say what they are.
//
// # Where client-go differs
//
// client-go pushes: a StreamWatcher's goroutine decodes and hands each event through a channel. An event that cannot be
// decoded ends the watch, an item that cannot be decoded fails the list. Its requests retry a 429 or 5xx with Retry-After
// up to ten times inside one call, and honour the client's Timeout on watches too; here the caller sees the error and the
// delay, and a watch lasts as long as it lasts. It decodes a list whole and copies the items to set them free. Its pager
// falls back to a full list on reason Expired only, here any 410 will do. Its RetryWatcher swallows bookmarks and starts over
// on a 410 that comes as an answer rather than as an event; RetryStream returns both kinds. It keeps no position on
// disk, [ResumableWatch] does. CBOR and client-go's request metrics are not here.
package listwatch
