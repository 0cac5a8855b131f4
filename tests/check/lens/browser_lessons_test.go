package lens

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lesson is what the tests must know of one.
type lesson struct {
	id, mutant string
	right      int
}

var field = regexp.MustCompile(`(?m)^  (id|right): '?([^',]+)'?,$`)

// mutantOf has a bug of the layers for each lesson, which turns its proof red: see mutants.txt, and tests/check/mutants.
var mutantOf = map[string]string{
	"list-watch":   "listwatch/initial-events-never-end",
	"bookmarks":    "reflector/bookmark-not-taken-over",
	"deltas":       "lessons/only-the-newest-delta",
	"tombstones":   "sharedinformer/relist-deletion-without-its-mark",
	"replace":      "lessons/relist-overlooks-what-is-gone",
	"resync":       "sharedinformer/resync-to-nobody",
	"has-synced":   "sharedinformer/handler-never-synced",
	"indices":      "indexer/update-not-indexed-anew",
	"slow-handler": "lessons/handler-called-with-its-lock",
	"dirty":        "workqueue/add-while-processing-lost",
	"backoff":      "controller/success-not-forgotten",
	"fight":        "lessons/contest-without-a-delay",
	"stale-cache":  "lessons/own-write-not-waited-for",
	"under-fire":   "lessons/recording-without-writes",
}

// lessons reads page/lessons, in their order.
func lessons(t *testing.T) (all []lesson) {
	t.Helper()
	files, err := filepath.Glob("../../../internal/lens/page/lessons/[0-9]*.js")
	require.NoError(t, err)
	require.Len(t, files, 14)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		fields := map[string]string{}
		for _, match := range field.FindAllStringSubmatch(string(text), -1) {
			fields[match[1]] = match[2]
		}
		require.Len(t, fields, 2, file)
		l := lesson{id: fields["id"], mutant: mutantOf[fields["id"]]}
		l.right, err = strconv.Atoi(fields["right"])
		require.NoError(t, err)
		all = append(all, l)
	}
	return all
}

func (l lesson) at(phase string) string { return "#/lesson/" + l.id + "/" + phase }

// wrong is an answer that is not right.
func (l lesson) wrong() int {
	if l.right == 1 {
		return 2
	}
	return 1
}

// answer chooses an answer, runs the lesson, and sees what the page says of both.
func (b *tab) answer(l lesson, number int) {
	b.t.Helper()
	b.sees("stage", "[data-stage=asking]")
	b.until(fmt.Sprintf(`document.querySelector('[data-test=answer-%[1]d]').parentNode.textContent.startsWith('%[1]d. ')`, number))
	b.click(fmt.Sprintf("answer-%d", number))
	b.click("run-lesson")
	b.proves(number == l.right)
}

// proves sees the proof, and whether the answer is said to be right.
func (b *tab) proves(right bool) {
	b.t.Helper()
	b.sees("stage", "[data-stage=observed]")
	require.Equal(b.t, "true", eval[string](b, `document.querySelector('[data-test=proof]').dataset.ok`), b.describe())
	b.sees("right-answer", fmt.Sprintf("[data-right=%v]", right))
}

// solves reaches the goal by the lesson's own solution.
func (b *tab) solves() {
	b.t.Helper()
	b.sees("stage", "[data-stage=trying]")
	b.click("solve")
	b.sees("stage", "[data-stage=reached]")
}

// fast lets the dots be where the layers are.
var fast = onEachPage(`localStorage.setItem('lens-slowness', '1')`)

// The answer is said when the dots show what decides it, however far the layers are. Their clock stands still here.
func TestLessons_TheAnswerComesWhenItIsSeen(t *testing.T) {
	t.Parallel()
	b := open(t, "#/lesson/tombstones/question")
	b.sees("stage", "[data-stage=asking]")
	b.click("answer-1")
	eval[any](b, stopReplay)
	b.click("run-lesson")
	b.until(`localStorage.getItem('lens-lessons')?.includes('tombstones')`) // it has run
	b.sees("caption", "[data-step=sent]")
	b.sees("stage", "[data-stage=running]")
	assert.True(t, eval[bool](b, `lens.view().dots.waiting > 0 && !document.querySelector('[data-test=right-answer]')`))
	b.click("now")
	b.sees("stage", "[data-stage=observed]")
	b.sees("right-answer")
}

// In one language the answer is wrong, in the other it is right.
func TestLessons_EachToItsEndInBothLanguages(t *testing.T) {
	t.Parallel()
	chromium(t)
	for _, lang := range []string{"en", "zh"} {
		for _, l := range lessons(t) {
			t.Run(lang+"/"+l.id, func(t *testing.T) {
				t.Parallel()
				b := open(t, "#/lessons", fast)
				b.click("lang-" + lang)
				b.click("lesson-" + l.id)
				answer := l.right
				if lang == "en" {
					answer = l.wrong()
				}
				b.answer(l, answer)
				b.sees("mark-decisive")
				b.sees("decides")
				b.until(`document.querySelector('[data-test=right-answer]').compareDocumentPosition(document.querySelector('[data-test=proof]')) & Node.DOCUMENT_POSITION_FOLLOWING`)
				if answer != l.right {
					b.says("right-answer", fmt.Sprintf("Right is %d: ", l.right))
					b.says("chosen-answer", fmt.Sprintf("You chose %d: ", answer))
					b.says("wrong", fmt.Sprintf("Why not %d: ", answer))
				}
				b.click("break-lesson")
				b.solves()
				b.sees("reached-why")
				text := b.text("lesson")
				assert.Equal(t, lang == "zh", regexp.MustCompile(`\p{Han}`).MatchString(text), text)
				assert.NotContains(t, text, "undefined")
				assert.Equal(t, lang, eval[string](b, `document.documentElement.lang`))
				b.do(goTo("#/lessons"))
				b.sees("finished-" + l.id) // the browser keeps it
			})
		}
	}
}

func TestLessons_EachStateHasAnAddressAndOutlivesAReload(t *testing.T) {
	t.Parallel()
	chromium(t)
	for _, l := range lessons(t) {
		t.Run(l.id, func(t *testing.T) {
			t.Parallel()
			b := open(t, l.at("answer"), fast)
			b.reload() // in the middle, or after it
			b.proves(false)
			b.do(goTo(l.at("break")))
			b.sees("stage", "[data-stage=trying]")
			b.reload()
			b.sees("stage", "[data-stage=trying]")
		})
	}
}
