// Package progress is the file that a program finds its place again with: what was seen, up to which resourceVersion, and
// of what. Informers keep their store in one, resumable watches their position.
//
//	magic and format version │ frame 0: identity │ frame 1 │ … │ SHA-256 of all before
//	8 bytes                  │ length, JSON      │         │   │ 32 bytes
//
// A frame is its length, a 32-bit little-endian number, and that many bytes. What is in the frames is the caller's.
//
// # What is guaranteed
//
//   - [Save] is all or nothing: the file is written beside the old one, synced, and put in its place by a rename, which is
//     synced, too. Whoever is killed meanwhile, or has no room left, leaves the old file as it was.
//   - [Load] returns nothing of a file before all of it was checked. A file that is cut, extended or changed is ErrDamaged,
//     one of another format version ErrVersion, one that was written about something else ErrForeign with what differs.
//   - The file is readable by its owner only: objects may be secrets.
//
// # What is not
//
//   - One file is for one writer at a time. Two spoil each other's writes, which is then noticed by one of the errors.
//   - The checksum is against accidents, not against somebody who may write the file.
//   - Load needs the whole file in memory.
//
// # Where client-go differs
//
// It keeps nothing on disk.
package resume
