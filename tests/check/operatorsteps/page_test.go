package operatorsteps

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var pagePath = filepath.Join(root, "docs", "learn", "operator.md")

// link is one to a function in a file of cmd/.
var link = regexp.MustCompile("\\[`(\\w+)`\\]\\(\\.\\./\\.\\./(cmd/[^)]+\\.go)\\)")

// A row of the last table names a function of the steps, and the functions that it grew into.
func TestPage_NamesFunctionsThatAreThere(t *testing.T) {
	page, err := os.ReadFile(pagePath)
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "\n## What cmd/cloudmanager has beyond that\n")
	require.True(t, found)
	steps := steps(t)
	last := steps[len(steps)-1].program
	sources := map[string]string{}
	named := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*?) \\|").FindAllStringSubmatch(text, -1) {
		require.True(t, declares(last, m[1]), "the last step has no %s", m[1])
		for _, place := range link.FindAllStringSubmatch(m[2], -1) {
			function, file := place[1], place[2]
			if sources[file] == "" {
				raw, err := os.ReadFile(filepath.Join(root, file))
				require.NoError(t, err)
				sources[file] = string(raw)
			}
			require.True(t, declares(sources[file], function), "%s has no %s", file, function)
			named++
		}
	}
	require.Greater(t, named, 8)
}

// declares reports whether a source has a function, method or type of that name.
func declares(source, name string) bool {
	return regexp.MustCompile(`(?m)^(func (\(.*?\) )?|type )` + name + `\b`).MatchString(source)
}
