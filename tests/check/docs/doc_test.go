// Package docs keeps the pages of docs/ true.
//
//	links_test.go      links lead to files, headings and functions that are there
//	proofs_test.go     a row that names a test names one that is there
//	tour_test.go       docs/learn/tour.md: pictures of doc.go, claims of the walkthroughs, steps of the demos
//	glossary_test.go   docs/learn/glossary.md has every term of the tour, in both languages
//	walk_test.go       docs/learn/source-walk.md: one event passes each function that it shows, in client-go and here
//	names_test.go      docs/learn/names.md: its paths and URLs, and resources, Go types and calls from discovery and reflection
//	chinese_test.go    each *.zh.md says the same as its original: -translated PAGE, once you have mended it
//	blocks_test.go     what stands in the pages' blocks, which -update makes anew (package pages):
//
//	<!-- picture deltafifo -->        the picture in the package's doc.go
//	<!-- story deltafifo -->          what `go test -v -run Walkthrough ./deltafifo` prints: its claims, and what queues hand out
//	<!-- demo 08-workqueue 2 -->      what step 2 of the demo prints
//	<!-- table resources -->          the table of docs/learn/names.md
package docs
