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
//   - No bytes, whatever is in them, cause a panic.
//
// # What is not
//
//   - Frames, and the objects in them, are not valid after the next call of Next.
//   - CBOR is not read, nor protobuf that no server sends: numbers and field numbers that overflow.
//
// Reading order: frames.go, format.go, then json.go and protobuf.go.
package wire
