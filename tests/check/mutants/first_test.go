package mutants

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/first: which test catches each mutant")

const firstFile = "testdata/first"

// eachInItsLayer is Each with the layers' own tests. What caught a bug before is tried first, and all tests only if that is green.
func eachInItsLayer(t *testing.T, all []Mutant) {
	first := map[string]string{} // by the bug's name
	if !*update {
		first = readFirst(t)
	}
	layers := layersOf(all, "")
	tests, likely := suitesOf(layers, nil), suitesOf(layers, nil)
	for _, s := range likely {
		var names []string
		for _, m := range s.bugs {
			if first[m.Name] != "" {
				names = append(names, first[m.Name])
			}
		}
		slices.Sort(names)
		s.args = []string{exactly(slices.Compact(names)...)}
	}
	var mu sync.Mutex
	caughtBy := map[string]string{}
	tally := tryEach(t, all, func(t *testing.T, parent *testing.T, m Mutant) Verdict {
		if name := first[m.Name]; name != "" {
			verdict, _ := likely[m.Layer()].try(t, parent, m, exactly(name))
			if verdict == Red {
				return Red
			}
		}
		verdict, by := tests[m.Layer()].try(t, parent, m)
		mu.Lock()
		defer mu.Unlock()
		if test := regexp.MustCompile(`^(Test|Example|Fuzz)\w+`).FindString(by); verdict == Red && test != "" {
			caughtBy[m.Name] = test
		}
		return verdict
	})
	tally.judge(t)
	if *update {
		writeFirst(t, caughtBy)
	}
}

// exactly is the flag for these tests.
func exactly(tests ...string) string { return "-test.run=^(" + strings.Join(tests, "|") + ")$" }

func readFirst(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(firstFile)
	require.NoError(t, err)
	first := map[string]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		require.Len(t, words, 2, "%s: want a mutant and a test, got %q", firstFile, line)
		first[words[0]] = words[1]
	}
	return first
}

func writeFirst(t *testing.T, first map[string]string) {
	t.Helper()
	var lines []string
	for name, test := range first {
		lines = append(lines, fmt.Sprintf("%s %s\n", name, test))
	}
	slices.Sort(lines)
	require.NoError(t, os.WriteFile(firstFile, []byte(strings.Join(lines, "")), 0o644))
}
