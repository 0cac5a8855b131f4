// Package mutants asks whether the tests would notice. Each file in testdata names one-line bugs for one layer: a lost
// signal, a missing tombstone, an index entry left behind. An overlay, which leaves the source alone, puts them all into the layer, each in
// a copy of its function (copies.go). They are switched on in turn, and the layer's own tests must turn red. Without a bug they must be green.
//
//	GLASSWATCH_MUTANTS=1 go test -C tests/check -v ./mutants
//	GLASSWATCH_MUTANTS=1 go test -C tests/check -v ./mutants -run 'Red/deltafifo'
//
// A mutant names a folder, a function and what stands there, once, without and with the bug. So a rewrite around it, or a move to another
// file, leaves it as it is. Space, line breaks and comments do not count; "-" in the place of a function is the whole file.
//
//	== deltafifo/lost-signal deltafifo InOrder.enqueueLocked
//	The consumer sleeps on although there is work.
//	-q.changed.Broadcast()
//
// testdata/first names the test that caught a mutant last time. It alone is run first, and all of the layer's tests only if it is green; the
// flag -update writes the file anew. A line that is wrong costs time, and hides nothing.
//
// Tests that do not end in time have not caught anything: such mutants are counted apart, and may be one in twenty.
//
// What is not proven: that every bug would be caught. These are bugs that people who write such code do make.
package mutants
