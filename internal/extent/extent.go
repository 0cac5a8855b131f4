// Package extent says how much of a large test is played. go test ./... plays a part; with -extent.full, as in make check, tests play all.
package extent

import "flag"

var full = flag.Bool("extent.full", false, "play all of which a test plays a part, as make check does")

// IsFull reports whether tests are to play all.
func IsFull() bool { return *full }

// Of returns how much a test is to play, of what it has two measures for: a part and all.
func Of(part, all int) int {
	if *full {
		return all
	}
	return part
}

// Some returns the first n, or all if tests are to play all.
func Some[T any](n int, of []T) []T { return of[:Of(n, len(of))] }
