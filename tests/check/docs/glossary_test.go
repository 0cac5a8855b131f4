package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/tests/check/pages"
)

// entry is a row of docs/learn/glossary.md.
type entry struct{ term, chinese, meaning, inChinese string }

func glossary(t *testing.T) []entry {
	t.Helper()
	var entries []entry
	for _, line := range strings.Split(read(t, "glossary.md"), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || strings.HasPrefix(line, "|---") || strings.TrimSpace(cells[1]) == "term" {
			continue
		}
		require.Len(t, cells, 6, "want four cells: %s", line)
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		entries = append(entries, entry{cells[1], cells[2], cells[3], cells[4]})
	}
	return entries
}

func TestGlossary_HasEachTermOnceInTheOrderOfTheAlphabetInBothLanguages(t *testing.T) {
	entries := glossary(t)
	require.Greater(t, len(entries), 60)
	for i, e := range entries {
		assert.NotEmpty(t, e.meaning, e.term)
		assert.Regexp(t, `\p{Han}`, e.chinese, e.term)
		assert.Regexp(t, `\p{Han}`, e.inChinese, e.term)
		if i > 0 {
			assert.Less(t, strings.ToLower(entries[i-1].term), strings.ToLower(e.term))
		}
	}
}

// emphasis is a term where the tour first uses it: *term*, or **term**, which chapters' heads have.
var emphasis = regexp.MustCompile(`(?:^|[^*])\*([A-Za-z][\w -]*)\*(?:[^*]|$)`)

func TestGlossary_HasEveryTermThatTheTourIntroduces(t *testing.T) {
	known := map[string]bool{}
	for _, e := range glossary(t) {
		known[strings.ToLower(e.term)] = true
	}
	page := pages.Without(read(t, "tour.md"))
	terms := emphasis.FindAllStringSubmatch(page, -1)
	require.Greater(t, len(terms), 25)
	for _, m := range terms {
		term := strings.ToLower(m[1])
		assert.True(t, known[term] || known[strings.TrimSuffix(term, "s")] || known[strings.TrimSuffix(term, "ies")+"y"], "%q is not in docs/learn/glossary.md", m[1])
	}
}
