package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/tests/check/pages"
)

// layers are the chapters' packages, in the order in which a change passes them.
var layers = []string{"listwatch", "reflector", "deltafifo", "indexer", "sharedinformer", "workqueue", "controller"}

func TestTour_ShowsWhatTheCodeSays(t *testing.T) {
	names := pages.Names(read(t, "tour.md"))
	told, made := stories(t, names), map[string]string{}
	for _, name := range names {
		kind, of, _ := strings.Cut(name, " ")
		switch kind {
		case "picture":
			made[name] = pages.Code("text", picture(t, of))
		case "story":
			made[name] = pages.Code("text", told[of])
		case "demo":
			demo, step, _ := strings.Cut(of, " ")
			made[name] = pages.Code("text", demoStep(t, demo, step))
		case "example":
			made[name] = pages.Code("text", exampleOutput(t, of))
		}
	}
	for _, page := range []string{"tour.md", "tour.zh.md"} {
		require.NoError(t, pages.Fill(pathOf(page), made, *update))
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
	const screen = 80 // lines
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
		question, _, _ := strings.Cut(chapter, "<!-- ")
		assert.Contains(t, question, "**Predict**", "the chapter on %s shows before it asks", layer)
		beforeAnswer, _, _ := strings.Cut(chapter, "<details>")
		assert.Contains(t, beforeAnswer, "<!-- story "+layer, "the chapter on %s answers where the reader still looks", layer)
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

func TestTour_NamesFoldersThatAreThere(t *testing.T) {
	run := regexp.MustCompile(`go (?:run|test) .*?\./([\w/-]+)`)
	for _, m := range run.FindAllStringSubmatch(read(t, "tour.md"), -1) {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1])))
		assert.NoError(t, err, "a folder that docs/learn/tour.md names")
	}
}
