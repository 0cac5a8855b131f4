// Package listwatch reads lists and watches of one resource from an API server, as typed objects and events. It imports
// no other layer.
//
//	                  ┌─────────────────────── Client[T] ───────────────────────┐
//	List  ◀── codec ◀─┤ wire: items   ◀─ body by Content-Type ◀─ GET …?limit=   │◀── rate limiter, Timeout
//	Next  ◀── codec ◀─┤ wire: events  ◀─ frames               ◀─ GET …?watch=1  │◀── no limit, no Timeout
//	                  └──────────────────────────────────────────────────────────┘
//
// Four ideas:
//
//  1. An [Object] has a [Key], namespace and name, and a resourceVersion. What happens to it is an [Event]. (types.go)
//  2. A [List] is one page. [Client.List] asks for one, [ListAll] for all of them. (list.go, pages.go)
//  3. A watch is a [Stream] that is pulled: Next decodes what comes next in its caller's goroutine. (stream.go, pull.go)
//  4. One bad object costs itself, an [ObjectError]: the list has the others, and the stream goes on. (codec.go)
//
// [New], [NewForConfig], [NewUnstructured] and [NewMetadata] make a [Client], which does this over HTTP. (client.go,
// request.go) [Funcs] does it with the functions of a client-go clientset, real or fake, and [FromWatch] with a
// client-go watch. (funcs.go, fromwatch.go)
//
// # What is guaranteed
//
//   - Next decodes in its caller's goroutine. Between the socket and the caller there is no goroutine and no channel of
//     this package, and only bytes are read ahead. The streams of [Client.Watch], [Funcs] and [FromWatch] are also
//     [BatchStream]s: one call returns several events that have arrived. Those of Client.Watch return at most 16.
//   - Events come in the server's order, each once.
//   - Next blocks until there is an event. Close, from any goroutine, and the end of the context wake it at once. No
//     event is delivered after them, except those that a NextBatch in progress has decoded.
//   - A clean end between two frames is io.EOF, an ERROR event an *apierrors.StatusError, an unreadable event an
//     [ObjectError]. After Close, Next returns [ErrClosed]; after a cancellation, the context's cause. Other errors are
//     broken streams: half a frame, a lost connection, a reset HTTP/2 stream, a frame above Options.MaxFrameSize.
//   - A bad object costs one [ObjectError], in List.Bad or from Next, with its key where that can be read. A client
//     never returns half a key, which would name another object. Bytes that are not JSON, or nested too deep for
//     Kubernetes' decoder, end a stream. In a list they are an error of the whole list.
//   - A list without a resourceVersion, a Table, a list of another kind is an error and not an empty list.
//   - Objects own their memory: none points into a buffer, and keeping an item does not keep the list. Options.Decoder
//     may have them share parts.
//   - An answer is decoded by its own Content-Type, which may differ from what was asked for. Protobuf is
//     asked for first where T has it.
//   - An answer other than 200 is an *apierrors.StatusError with the server's own Status if it sent one, and with the
//     Retry-After header in it, for apierrors.SuggestsClientDelay.
//   - An object must match the selectors in Options and those in ListOptions.
//   - With Options.Shard, an object outside of the shard never comes, whatever the server sends. Most are dropped by
//     their bytes, without being decoded.
//
// # What is not
//
//   - No request is repeated here, except ListAll's full list after a 410. Watches that resume are in package resume.
//   - A watch has no timeout. The reflector finds out that a server is silent.
//   - A watch from "", "0" or a version before the list's repeats what the list showed.
//   - A list is in memory as a whole while it is decoded.
//   - A [Funcs] does not look at a shardSelector. It leaves that to its functions, and to the server.
//   - Items of a protobuf list do not say their types, so only the type of the list is checked.
//
// Read types.go first, then client.go, request.go and codec.go, and then list.go or stream.go. Subfolders: wire (bytes),
// shard (a part of the objects), resume (watches that survive), memo (objects that share parts).
package listwatch
