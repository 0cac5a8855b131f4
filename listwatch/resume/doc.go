// Package resume has watches that outlive their connection, and their program. It is for programs that follow a
// resource without keeping a copy of it; who wants to learn how an informer works may skip it.
//
//	Stream  the connection ends: watch again from the newest resourceVersion that came
//	Watch   the program ends:    watch again from the position in a file
//
//	file:  magic and format version │ frame 0: identity │ frame 1 │ … │ SHA-256 of all before
//	       8 bytes                  │ length, JSON      │         │   │ 32 bytes
//
// A frame is its length, a 32-bit little-endian number, and that many bytes. What is in it is the caller's. Resumable
// watches keep their position in such a file, informers their store. [ClusterID] and [SourceOf] say what a file is
// about.
//
// # What is guaranteed
//
//   - A [Stream] delivers each event once and in order. An event without a version of its own can come again if the
//     connection ends behind it: some servers send a deletion with the version that the object had. A [Watch] delivers
//     each event at least once, in order.
//   - [Save] is all or nothing. The file is written beside the old one, synced, and renamed. A process that is
//     killed, or a disk that is full, leaves the old file as it was.
//   - [Load] returns nothing of a file before all of it was checked. A file that is cut, extended or changed is
//     ErrDamaged, one of another format version ErrVersion, one about something else ErrForeign with what differs.
//   - [RejectIfServerBehind] refuses to resume from a version that the server has not reached.
//   - The file is readable by its owner only: objects may be secrets.
//
// # What is not
//
//   - A file is for one writer at a time. Two writers spoil each other's files, which the next Load notices.
//   - The checksum is against accidents, not against a person who may write the file. Load reads all of it into memory.
//
// Reading order: retry.go, resumable.go, server.go, then file.go.
package resume
