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
	answers    int
}

var field = regexp.MustCompile(`(?m)^  (id|answers|right|mutant): '?([^',]+)'?,$`)

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
		require.Len(t, fields, 4, file)
		l := lesson{id: fields["id"], mutant: fields["mutant"]}
		l.right, err = strconv.Atoi(fields["right"])
		require.NoError(t, err)
		l.answers, err = strconv.Atoi(fields["answers"])
		require.NoError(t, err)
		all = append(all, l)
	}
	return all
}

func (l lesson) at(phase string) string { return "#/lesson/" + l.id + "/" + phase }

// wrong is an answer that is not right.
func (l lesson) wrong() int { return l.right%l.answers + 1 }

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

// In one language the answer is wrong, in the other it is right.
func TestLessons_EachToItsEndInBothLanguages(t *testing.T) {
	t.Parallel()
	chromium(t)
	for _, lang := range []string{"en", "zh"} {
		for _, l := range lessons(t) {
			t.Run(lang+"/"+l.id, func(t *testing.T) {
				t.Parallel()
				b := open(t, "#/lessons")
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
			b := open(t, l.at("answer"))
			b.reload() // in the middle, or after it
			b.proves(false)
			b.do(goTo(l.at("break")))
			b.sees("stage", "[data-stage=trying]")
			b.reload()
			b.sees("stage", "[data-stage=trying]")
		})
	}
}
