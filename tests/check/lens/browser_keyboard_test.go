package lens

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// mostTabs is more than there are stops on the page.
const mostTabs = 200

// tabTo presses the tabulator until an element has the focus, and sees that the focus is shown at each stop.
func (b *tab) tabTo(name string) {
	b.t.Helper()
	for range mostTabs {
		b.do(chromedp.KeyEvent(kb.Tab))
		at := eval[[2]string](b, `(() => {
  const e = document.activeElement;
  const isShown = e.matches(':focus-visible') && getComputedStyle(e).outlineStyle !== 'none'
    && e.getClientRects().length > 0;
  return [e.dataset.test ?? '', e === document.body || isShown ? '' : e.outerHTML];
})()`)
		assert.Empty(b.t, at[1], "the focus is not shown")
		if at[0] == name {
			return
		}
	}
	b.t.Fatalf("the tabulator does not reach %s", name)
}

func (b *tab) press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

func TestKeyboard_AWholeStepAndALesson(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.tabTo("search")
	b.press(web + kb.Enter)
	b.sees("pause-only", ":not(:disabled)") // the key is chosen
	b.tabTo("pause-only")
	b.press(" ")
	b.tabTo("pause")
	b.press(kb.Enter)
	b.sees("pause", "[aria-disabled=true]")
	b.until(`lens.view().gate.key === 'default/web'`)
	b.tabTo("act-title")
	b.press(kb.Enter)
	b.tabTo("example")
	b.press(kb.ArrowDown + kb.ArrowDown) // without an Ingress
	b.tabTo("apply")
	b.press(kb.Enter)
	b.sees("parked-" + forth[0])
	b.tabTo("step")
	for _, box := range forth[1:] {
		b.press(kb.Enter) // the focus stays
		b.sees("parked-" + box)
	}
	b.tabTo("run")
	b.press(kb.Enter)
	b.says("objects-services", "2")

	b.tabTo("lessons")
	b.press(kb.Enter)
	b.tabTo("lesson-deltas")
	b.press(kb.Enter)
	b.sees("stage", "[data-stage=asking]")
	b.until(`document.activeElement.matches('[data-test=lesson] h2')`) // the heading gets the focus a moment later
	b.tabTo("answer-1")
	b.press(" ")
	b.tabTo("run-lesson")
	b.press(kb.Enter)
	b.sees("stage", "[data-stage=observed]")
}

func TestKeyboard_TheActionsAreFourStopsAway(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.press(kb.Tab)
	b.press(kb.Tab)
	b.press(kb.Enter) // the second link that skips
	b.press(kb.Tab)
	b.press(kb.Tab) // the story stands before it
	b.press(kb.Enter)
	b.says("objects-ingresses", "1")
}
