package tour

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "make the blocks of docs/learn/tour.md anew")

// layers are the chapters' packages, in the order in which a change passes them.
var layers = []string{"listwatch", "reflector", "deltafifo", "indexer", "sharedinformer", "workqueue", "controller"}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "docs", "learn", name))
	require.NoError(t, err)
	return string(raw)
}

func TestTour_ShowsWhatTheCodeSays(t *testing.T) {
	page := read(t, "tour.md")
	now := render(t, page)
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, "docs", "learn", "tour.md"), []byte(now), 0o644))
		return
	}
	if now != page {
		t.Errorf("docs/learn/tour.md is not what the code says: go test ./tests/tour -update")
		assert.Equal(t, strings.Split(page, "\n"), strings.Split(now, "\n"))
	}
}

// chapters are the parts of the page under its second-level headings.
func chapters(page string) map[string]string {
	parts := map[string]string{}
	for _, part := range strings.Split(page, "\n## ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		parts[title] = text
	}
	return parts
}

func TestTour_EachLayerHasAChapterThatFitsAScreen(t *testing.T) {
	const screen = 70 // lines
	found := chapters(read(t, "tour.md"))
	for _, layer := range layers {
		var chapter string
		for title, text := range found {
			if strings.Contains(title, "`"+layer+"`") {
				chapter = text
			}
		}
		if !assert.NotEmpty(t, chapter, "no chapter on %s", layer) {
			continue
		}
		assert.LessOrEqual(t, strings.Count(chapter, "\n"), screen, "the chapter on %s is too long", layer)
		for _, part := range []string{
			"go test -v -run Walkthrough ./" + layer,
			"<!-- picture " + layer + " -->", "<!-- story " + layer + " -->",
			"**Needs**", "**Minutes**", "**Predict**", "**Then**",
		} {
			assert.Contains(t, chapter, part, "the chapter on %s", layer)
		}
	}
}

func TestTour_SaysHowLongAllOfItTakes(t *testing.T) {
	page, sum := read(t, "tour.md"), 0
	for _, m := range regexp.MustCompile(`\*\*Minutes\*\* (\d+)`).FindAllStringSubmatch(page, -1) {
		minutes, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		sum += minutes
	}
	assert.Contains(t, page, fmt.Sprintf("All of it takes %d minutes", sum))
}

func TestTour_LinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	for _, name := range []string{"tour.md", "glossary.md"} {
		for _, m := range link.FindAllStringSubmatch(read(t, name), -1) {
			_, err := os.Stat(filepath.Join(root, "docs", "learn", filepath.FromSlash(m[1])))
			assert.NoError(t, err, "a link in docs/%s", name)
		}
	}
	run := regexp.MustCompile(`go (?:run|test) .*?\./([\w/-]+)`)
	for _, m := range run.FindAllStringSubmatch(read(t, "tour.md"), -1) {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1])))
		assert.NoError(t, err, "a folder that docs/learn/tour.md names")
	}
}
