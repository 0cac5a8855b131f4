package lens

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// axe returns axe-core, which looks for what keeps people out.
func axe(t *testing.T) string {
	t.Helper()
	packed, err := os.ReadFile("testdata/axe/axe.min.js.gz")
	require.NoError(t, err)
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	script, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	return string(script)
}

func TestAxe_IsTheFileOfThePackage(t *testing.T) {
	readme, err := os.ReadFile("testdata/axe/README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), fmt.Sprintf("%x", sha256.Sum256([]byte(axe(t)))))
}

// isAccessible lets axe look at the page as it is now.
func (b *tab) isAccessible(view string) {
	b.t.Helper()
	eval[bool](b, "window.axe !== undefined || (() => { "+axe(b.t)+"; return true; })()")
	found := eval[[]string](b, `axe.run({ rules: { 'target-size': { enabled: true } } }).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, help, nodes }) => id + ': ' + help + '\n' 
    + nodes.slice(0, 5).map((n) => n.html + '\n  ' + n.failureSummary).join('\n')))`)
	assert.Empty(b.t, found, view)
}

func TestAxe_FindsNothingSeriousOnAnyView(t *testing.T) {
	t.Parallel()
	chromium(t)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			b := open(t, "", prefers("color-scheme", scheme))
			b.isIn("Watching")
			b.applies("create")
			b.says("objects-ingresses", "1")
			b.expect("status of 4")
			b.enter("yaml", "kind: [")
			b.click("apply")
			b.sees("error")
			eval[any](b, `document.querySelectorAll('details').forEach((d) => { d.open = true; })`)
			b.isAccessible("all events, everything unfolded, an error")
			b.chooses(web)
			b.until(`lens.view().journey.some((e) => e.at === 'stored')`)
			b.rests() // or the table goes on
			b.click("events", " tr[data-at=stored] td:last-child button")
			b.sees("why")
			b.enter("breakpoint-form", "popped")
			b.breaks()
			b.applies("change")
			b.sees("parked-deltafifo")
			b.isAccessible("a journey, its causes, and what is parked")
			b.do(goTo("#/lessons"))
			b.sees("lesson-tombstones")
			b.isAccessible("the list of lessons")
			b.do(goTo("#/lesson/tombstones/question"))
			b.sees("stage", "[data-stage=asking]")
			b.isAccessible("a question")
			b.click("answer-1")
			b.click("run-lesson")
			b.sees("stage", "[data-stage=observed]")
			b.isAccessible("an answer")
			b.click("break-lesson")
			b.sees("stage", "[data-stage=trying]")
			b.click("lang-zh")
			b.until(`document.documentElement.lang === 'zh'`)
			b.isAccessible("a goal, in Chinese")
		})
	}
}

// axe itself is asked whether it finds a mistake.
func TestAxe_FindsAButtonWithoutAName(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	eval[any](b, `document.querySelector('header').append(document.createElement('button'))`)
	eval[bool](b, "(() => { "+axe(t)+"; return true; })()")
	found := eval[string](b, `axe.run()
  .then(({ violations }) => violations.map(({ id, impact }) => id + ' ' + impact).join())`)
	assert.True(t, strings.Contains(found, "button-name critical"), found)
}
