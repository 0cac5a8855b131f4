// Package tour keeps docs/learn/tour.md and docs/learn/glossary.md true.
//
//	<!-- picture deltafifo -->        the picture in the package's doc.go
//	<!-- story deltafifo -->          what `go test -v -run Walkthrough ./deltafifo` prints, as a list of claims
//	<!-- demo 08-workqueue 2 -->      what step 2 of the demo prints
//
// `go test ./tests/tour -update` makes the text between such a line and <!-- end --> from the code. The test fails if
// that text is outdated. The rest of the page is written by hand. Each chapter says what it needs, how long it takes
// and which command runs it, and asks one question. Each term in italics is in the glossary.
package tour
