// Package tour keeps docs/tour.md and docs/glossary.md true.
//
//	<!-- picture deltafifo -->        the picture in the package's doc.go
//	<!-- story deltafifo -->          what `go test -v -run Walkthrough ./deltafifo` prints, as a list of claims
//	<!-- demo 08-workqueue 2 -->      what step 2 of the demo prints
//
// What stands between such a line and <!-- end --> is made from the code, by `go test ./tests/tour -update`; the test
// fails where it is not what the code says now. The rest of the page is written by hand. Each chapter says what it needs,
// how long it takes, which command runs it, and asks one question; each term set in italics is in the glossary.
package tour
