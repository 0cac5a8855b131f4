// Package exercises has one function a layer for the reader to write: to fold deltas, to make tombstones for what a list lacks, to file an
// index entry, to take a snapshot, to swap a buffer, to be done, to wait before the next try, to reconcile.
//
//	go run ./tests/exercises/start 01 ──▶ deltafifo/deltafifo.go: the body of one function is a panic
//	                                          │ you write
//	                                          ▼
//	go test ./tests/exercises/01-…    ◀── the layer, with your function in it
//	git diff deltafifo                ──▶ yours beside the project's
//	git restore deltafifo             ──▶ as it was
//
// The function is blanked where it stands, in the layer itself, and not in a copy: the editor knows the types around it, the
// layer's own tests and benchmarks are there for those who want more, git shows the two answers side by side, and there is no
// second text that grows old. For the same reason nothing is behind a build tag: as long as a function is not blank, the tests
// of its exercise are ordinary tests and green, and that is the proof that they pass with the project's own code.
//
// That they fail without it is proven by the tests of this package, which blank each function in an overlay and leave the source alone. They
// try a tempting wrong answer to each as well, which must end in a failed assertion: an exercise that hangs or
// only panics teaches nothing.
//
//	go test -C tests/check -v ./exercises
//
// What is not shown: that an answer which passes is as good as the project's. The layer's own tests, models and mutants look closer.
package exercises
