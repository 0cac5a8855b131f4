//go:build !race

package main

// crowdSize is how many namespaces the workers create.
const crowdSize = 30_000
