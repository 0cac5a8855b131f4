// Package shrink says when the memory that a burst has left is released.
//
// Buffers and free lists are kept for reuse, so that steady work allocates nothing. Go's maps never shrink by
// themselves. So after a burst all of them would keep memory that nothing needs any more. Their owner makes them anew
// when IsDue says so.
package shrink

// Kept is the number of entries that are always kept for reuse.
const Kept = 1024

// IsDue reports whether memory for held entries is to be released, when needed of them were in use of late. Less than
// a quarter is in use then. So it takes much more than one entry, coming and going, to release memory again and again.
func IsDue(held, needed int) bool {
	return held > Kept && needed < held/4
}
