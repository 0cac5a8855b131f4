// Package book prints the walkthroughs of the seven layers, so that `go test -v -run Walkthrough` reads as a book: a layer
// is a chapter, and a subtest is a step, whose name says what happens.
package book

import (
	"fmt"
	"strings"
	"testing"
)

// width is how many runes of text stand in a line.
const width = 100

// Chapter prints what a layer is for. The title names the layer and its place in the order of reading.
func Chapter(t testing.TB, title, purpose string) {
	fmt.Fprintf(t.Output(), "CHAPTER %s\n", title)
	put(t, "", purpose)
}

// Saw prints what a step has observed. It prints nothing once the test has failed, for then it may not be true.
func Saw(t testing.TB, format string, args ...any) {
	if !t.Failed() {
		put(t, "saw", fmt.Sprintf(format, args...))
	}
}

// Why prints why a step matters.
func Why(t testing.TB, text string) { put(t, "why", text) }

// put breaks text into lines, the first of them behind its label.
func put(t testing.TB, label, text string) {
	line := ""
	flush := func() {
		fmt.Fprintf(t.Output(), "%-4s %s\n", label, line)
		label, line = "", ""
	}
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			flush()
		}
		line = strings.TrimSpace(line + " " + word)
	}
	flush()
}
