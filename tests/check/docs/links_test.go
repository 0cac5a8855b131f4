package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	link    = regexp.MustCompile("(?:`(\\w+)`)?\\]\\(([^)\\s]+)\\)")
	title   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

func TestLinks_LeadToFilesHeadingsAndFunctionsThatAreThere(t *testing.T) {
	links := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "compat/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, page := range found {
			for _, m := range link.FindAllStringSubmatch(prose(t, page), -1) {
				if !strings.Contains(m[2], "://") && !leads(t, page, m[2], m[1]) {
					t.Errorf("%s links to %s %s, which is not there", page, m[2], m[1])
				}
				links++
			}
		}
	}
	require.Greater(t, links, 40)
}

// leads reports whether a page's link has a target. The link's text may be the name of a function or type in a Go file.
func leads(t *testing.T, page, to, name string) bool {
	path, heading, _ := strings.Cut(to, "#")
	target := page
	if path != "" {
		target = filepath.Join(filepath.Dir(page), path)
	}
	switch _, err := os.Stat(target); {
	case err != nil:
		return false
	case heading != "" && strings.HasSuffix(target, ".md"):
		return headings(t, target)[heading]
	case name != "" && strings.HasSuffix(target, ".go"):
		return regexp.MustCompile(`(?m)^(func (\(.*?\) )?|type )` + name + `\b`).MatchString(textOf(t, target))
	}
	return true
}

// prose is a page without its blocks of code.
func prose(t *testing.T, page string) string { return fence.ReplaceAllString(textOf(t, page), "") }

// headings are the names that GitHub gives to a page's headings.
func headings(t *testing.T, page string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, m := range title.FindAllStringSubmatch(prose(t, page), -1) {
		name := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}
