// Package memo decodes the protobuf form of Kubernetes objects, and does not decode again what it has decoded before: parts
// of objects whose bytes are those of a part that came earlier are that part. It is faster and takes less memory than the
// generated Unmarshal where objects are alike, as the pods of one template are.
//
//	message ─▶ field by field ─▶ scalar: into the object
//	                         └─▶ string, message, slice, map: its bytes ──▶ [ young ] ─▶ [ old ]
//	                                                           known: the part from there ◀┘
//	                                                           else:  decoded; remembered if it came before
//
// The fields of a type are found once by reflection: their numbers stand in the protobuf tags of its structs. A repeated
// field, which is a slice or a map, is one part if its entries follow each other, as they do; so the environment of a container
// is looked up as a whole and its variables only if that is unknown.
//
// What is seldom found is not looked for: each field counts, and one of which less than a quarter was known is decoded without
// the memo for a while. Names, UIDs, timestamps and all that holds them drop out so, without a list of them. What comes for
// the first time is not kept, but for a few bits of its hash, and most never comes again.
//
// # What is guaranteed
//
//   - The object, or the error, is that of the generated Unmarshal. Whatever is out of the ordinary (a field that comes twice
//     where it must be merged, packed numbers, groups, overlong lengths, an error of any kind) is left to that from the start.
//   - Nothing points into the input.
//   - A shared slice has no room behind its end: an append to it makes a new one.
//   - What writes to itself when it is read is not shared: a resource.Quantity outside a map, and all that holds one. A
//     Quantity in a map can only be copied out; it is shared unless its copies share memory.
//   - The memo is bounded: see [Options]. A part counts with all that it keeps in memory, also what it shares with others that
//     were counted; so the bound is one from above.
//   - A Decoder may be used from any goroutine.
//
// # What is not
//
//   - Anything if objects are modified: other objects change as well.
//   - Anything for types outside k8s.io/api and apimachinery: what their Unmarshal does, their tags need not say. Those go
//     to their own Unmarshal and share nothing.
//   - That the memo becomes smaller when objects go: it does not know who still has them. It keeps what it has, within its
//     bound, until other parts come in its place, or the Decoder itself goes.
//   - That all that is equal is one: what the memo forgot is there twice when it comes again, and so are equal parts of
//     different fields, and those of one object that no other has.
package memo
