//go:build race

package main

// crowdSize is smaller here, for the race detector makes each creation ten times as slow.
const crowdSize = 3_000
