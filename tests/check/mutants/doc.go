// Package mutants asks whether the tests would notice. Each file in testdata names one-line bugs for one layer: a lost
// signal, a missing tombstone, an index entry left behind. An overlay, which leaves the source alone, puts them all into the layer, each in
// a copy of its function (copies.go). They are switched on in turn, and the layer's own tests must turn red. Without a bug they must be green.
//
//	GLASSWATCH_MUTANTS=1 go test -C tests/check -v ./mutants
//	GLASSWATCH_MUTANTS=1 go test -C tests/check -v ./mutants -run 'Red/deltafifo'
//
// A mutant is written as a piece of a diff under a line with its name. Lines that begin with a space must stand in the file
// as they are, those with a minus are taken out, those with a plus put in; the piece must occur exactly once.
//
//	== deltafifo/lost-signal deltafifo/inorder.go
//	The consumer sleeps on although there is work.
//	 	q.tail = append(q.tail, d)
//	-	q.nonEmpty.Signal()
//
// Tests that do not end in time have not caught anything: such mutants are counted apart, and may be one in twenty.
//
// What is not proven: that every bug would be caught. These are bugs that people who write such code do make.
package mutants
