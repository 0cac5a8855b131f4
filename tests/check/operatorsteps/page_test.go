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

// page is docs/learn/operator.md while its blocks are compared with what they show.
type page struct {
	*testing.T
	text string
	seen map[string]bool
}

func openPage(t *testing.T) *page {
	text, err := os.ReadFile(pagePath)
	require.NoError(t, err)
	return &page{t, string(text), map[string]bool{}}
}

// block wants the text between <!-- name --> and <!-- end -->, and puts it there in an update.
func (p *page) block(name, language, text string) {
	p.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(p.text, begin)
	require.True(p, found, "the page has no %q", name)
	shown, after, found := strings.Cut(rest, end)
	require.True(p, found, "%q has no end", name)
	p.seen[name] = true
	want := "```" + language + "\n" + text + "```\n"
	if *update {
		p.text = before + begin + want + end + after
		return
	}
	require.Equal(p, want, shown, "go test -C tests/check ./operatorsteps -update")
}

func (p *page) close() {
	for _, m := range regexp.MustCompile(`<!-- ((?:diff|prints) .*?) -->`).FindAllStringSubmatch(p.text, -1) {
		require.True(p, p.seen[m[1]], "nothing makes %q", m[1])
	}
	if *update {
		require.NoError(p, os.WriteFile(pagePath, []byte(p.text), 0o644))
	}
}

// link is one to a function in a file of cmd/.
var link = regexp.MustCompile("\\[`(\\w+)`\\]\\(\\.\\./\\.\\./(cmd/[^)]+\\.go)\\)")

// A row of the last table names a function of the steps, and the functions that it grew into.
func TestPage_NamesFunctionsThatAreThere(t *testing.T) {
	_, text, found := strings.Cut(openPage(t).text, "\n## What cmd/cloudmanager has beyond that\n")
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
