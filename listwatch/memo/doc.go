// Package memo decodes the protobuf form of Kubernetes objects, and does not decode the same bytes twice. A part of an
// object whose bytes came before is the part decoded then. Where objects are alike, as the pods of one template are,
// this is faster than the generated Unmarshal, and takes less memory. It is for programs that cache many objects;
// who wants to learn how an informer works may skip it.
//
//	message ─▶ field by field ─▶ scalar: into the object
//	                         └─▶ string, message, slice, map: its bytes ──▶ [ young ] ─▶ [ old ]
//	                                                           known: the part from there ◀┘
//	                                                           else:  decoded; remembered if it came before
//
// Each field counts how often its parts are found. A field found in less than a quarter of the cases is decoded without
// the memo for a while; so names, UIDs and timestamps drop out. A part that comes for the first time leaves only a few
// bits of its hash, because most parts never come again.
//
// # What is guaranteed
//
//   - The object, or the error, is that of the generated Unmarshal. Unusual messages are left to it from the start:
//     fields that come twice where they must be merged, packed numbers, groups, overlong lengths, errors of any kind.
//   - Nothing points into the input.
//   - A shared slice has no room behind its end: an append to it makes a new one.
//   - What writes to itself when it is read is not shared: a resource.Quantity outside a map, and all that holds one. A
//     Quantity in a map can only be copied out. It is shared unless its copies share memory.
//   - The memo is bounded: see [Options]. A part counts with all that it keeps in memory.
//   - A Decoder may be used from any goroutine, for objects of many types.
//
// # What is not
//
//   - Objects must not be modified: other objects change as well. A transform that writes to more than the object's own
//     fields must not be used with a Decoder.
//   - Types outside k8s.io/api and apimachinery share nothing: their tags need not say what their Unmarshal does.
//   - The memo does not become smaller when objects go. It keeps what it has, within its bound.
//   - Not all that is equal is shared: not what the memo forgot, and not the first two of a kind.
//
// Reading order: decoder.go, decode.go, repeated.go, table.go, plan.go; place.go has all of the unsafe code.
package memo
