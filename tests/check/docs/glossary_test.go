package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

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

func hasChinese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

func TestGlossary_ExplainsEachTermInBothLanguages(t *testing.T) {
	entries := glossary(t)
	require.Greater(t, len(entries), 60)
	for _, e := range entries {
		assert.NotEmpty(t, e.meaning, "%s has no meaning", e.term)
		assert.False(t, hasChinese(e.meaning), "%s: the third cell is English", e.term)
		assert.True(t, hasChinese(e.chinese) && hasChinese(e.inChinese), "%s: the second and the fourth cell are Chinese", e.term)
	}
	lower := func(a, b entry) int { return strings.Compare(strings.ToLower(a.term), strings.ToLower(b.term)) }
	assert.True(t, slices.IsSortedFunc(entries, lower), "terms are in the order of the alphabet")
	assert.Len(t, slices.CompactFunc(entries, func(a, b entry) bool { return a.term == b.term }), len(glossary(t)), "a term stands there twice")
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
