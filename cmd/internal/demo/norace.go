//go:build !race

package demo

// Race tells whether the race detector watches, which makes a server ten times as slow: demos make fewer objects then.
const Race = false
