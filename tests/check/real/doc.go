// Package real plays on a real API server what `go test ./...` plays on the one in memory: the tests of the layers' module that take
// [glasswatch/internal/realserver], and whatever needs a server that can be killed.
package real
