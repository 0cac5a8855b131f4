// Package tutorials plays the programs that tutorials of client-go contain: written anew, one file each, up to three ways.
//
//	clientgo/shutdowns.go ──▶ on client-go
//	compat/shutdowns.go   ──▶ the same file with its imports changed: TestCompat makes it
//	native/shutdowns.go   ──▶ the same on the layers of this repository
//
// Each runs in virtual time, and against the API server in memory. The page docs/learn/tutorials.md has what each prints.
// It is made from the comments of the programs, their output, and the table in table_test.go:
//
//	go test ./tests/tutorials -update
//
// A program without client-go's cache or workqueue has nothing to swap: then there is no file in compat. Where the layers
// have nothing of their own, there is none in native, and the comment says why after "Ways:". Where two ways print
// different lines, it says why after "Differs:".
package tutorials
