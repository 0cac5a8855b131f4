// Package wire takes apart the bytes that an API server sends: a stream into frames, a frame into the type of an event
// and its object, a list into its items. It knows the two encodings that servers offer, JSON and protobuf.
//
//	watch:  bytes ─▶ Reader.Next ─▶ frame ─▶ Format.Event ─▶ "ADDED", Object ─▶ Object.Decode ─▶ Go type
//	list:   bytes ────────────────────────▶ Format.List ──▶ Object, Object …  ─▶ Object.Decode ─▶ Go type
//
//	frame   JSON: from a bracket to the bracket that closes it.  protobuf: four bytes of length, then so many bytes.
//
// An [Object] is not decoded until Decode is called. So an object that cannot be decoded costs only itself.
//
// # What is guaranteed
//
//   - Next decodes nothing and blocks in Read only. No goroutine is started.
//   - A clean end between two frames is io.EOF. Every other end is another error.
//   - A frame longer than the limit is [ErrFrameTooLarge]. A length is a claim: memory is spent on bytes that came.
//   - Objects that were decoded do not point into the bytes.
//   - No bytes, whatever is in them, cause a panic in this package.
//
// # What is not
//
//   - Frames, and the objects in them, are not valid after the next call of Next.
//   - Decode of protobuf is the Go type's own code. For a type that contains itself, as the schema of a
//     CustomResourceDefinition does, it needs stack for each level: some hundred thousand levels, in less than a frame's
//     limit, end the process. API servers refuse such objects.
//   - JSON nested in more than 10,000 levels, those of the list or the event included, is not read: it is an error of the
//     whole list, or garbage in the stream. That is the limit of Kubernetes' own decoder.
//   - CBOR is not read, nor protobuf that no server sends: numbers and field numbers that overflow.
//
// Reading order: frames.go, format.go, then json.go and protobuf.go.
package wire
