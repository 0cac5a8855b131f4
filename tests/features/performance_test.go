package features

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// figure is a number with a unit, or a ratio.
var figure = regexp.MustCompile(`\d[\d,.]*[  ]?(?:×|%|(?:ns|µs|us|ms|s|min|x|times|B|KB|MB|GB|KiB|MiB|GiB)\b)`)

// quotation is what stands in backquotes or is the address of a link: commands, names.
var quotation = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")

// byHand returns the figures of a page that nobody measured for it. Prose has none. A table's row may have some if it stands word for
// word in one of the sources, which are generated. Code is not looked at.
func byHand(page string, sources ...string) []string {
	var found []string
	inCode := false
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		hit := figure.FindString(quotation.ReplaceAllString(line, ""))
		switch {
		case hit == "" || inCode || strings.HasPrefix(line, "    "):
		case !strings.HasPrefix(line, "|"):
			found = append(found, fmt.Sprintf("line %d: expected no figure in prose, came %q", i+1, hit))
		case !isRowOf(line, sources):
			found = append(found, fmt.Sprintf("line %d: expected a row of a generated page, came %q", i+1, line))
		}
	}
	return found
}

func isRowOf(row string, sources []string) bool {
	for _, source := range sources {
		if strings.Contains("\n"+source+"\n", "\n"+row+"\n") {
			return true
		}
	}
	return false
}

func TestPerformance_EveryFigureIsARowOfAGeneratedPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "results", "performance.md"))
	require.NoError(t, err)
	var sources []string
	for _, pattern := range []string{"*.md"} {
		files, err := filepath.Glob(filepath.Join(root, "docs", "results", "benchmarks", pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			sources = append(sources, string(text))
		}
	}
	for _, problem := range byHand(string(page), sources...) {
		t.Errorf("docs/results/performance.md, %s", problem)
	}
}

func TestByHand_FindsFiguresThatNobodyMeasured(t *testing.T) {
	source := "| workload | faster |\n|---|---|\n| List | 3.8× (3.42–4.08) |\n"
	for page, want := range map[string]string{
		"A list of 10,000 pods, in chunks of 256.":        "",
		"A list takes 3 ms.":                              `line 1: expected no figure in prose, came "3 ms"`,
		"A list takes 0.5µs.":                             `came "0.5µs"`,
		"Half of it, 31 %, is hashing.":                   `came "31 %"`,
		"It is 2.1× as fast.":                             `came "2.1×"`,
		"It is 4 times as fast.":                          `came "4 times"`,
		"Run `-benchtime 3s` for [that](a/3s.md).":        "",
		"```\ngo test -benchtime 3s\n```\nIt takes 4 s.":  `line 4: expected no figure in prose, came "4 s"`,
		"    go test -benchtime 3s":                       "",
		"| List | 3.8× (3.42–4.08) |":                     "",
		"| List | 3.9× (3.42–4.08) |":                     `line 1: expected a row of a generated page, came "| List | 3.9× (3.42–4.08) |"`,
		"| List | 3.8× |":                                 "expected a row of a generated page",
		"| `indexer` | chunks of 256 | one map |":         "",
		"First line.\n\n| Replace | 1.8× (1.70–1.90) |\n": "line 3: expected a row",
	} {
		got := strings.Join(byHand(page, source), "\n")
		if want == "" {
			require.Empty(t, got, page)
		} else {
			require.Contains(t, got, want, page)
		}
	}
}
